// SPDX-License-Identifier: Apache-2.0
// Puts a captured launch's memory at the addresses that it had. Something of this process may lie
// there; the process starts anew then, and asks the kernel for another layout of its libraries.
#pragma once

#include "trace/capture_file.h"

#include <string>

namespace gmt::replay {

// Before any CUDA call: keeps the addresses for allocate_memory(). Does not return if the process
// starts anew. What is wrong in half a sentence; empty: they are free.
std::string hold_addresses(const trace::Capture& capture, char** arguments);

// With a current context. All blocks are there then, with what they had before the launch; those
// that were left out have no content. Variables lie there when
// their module is loaded.
std::string allocate_memory(const trace::Capture& capture);

// Of the texture or surface that is made next.
void choose_handle(std::uint64_t handle);

// Of launches from now on: one block alone, by its number in the grid.
void choose_block(std::uint64_t number);

} // namespace gmt::replay
