// SPDX-License-Identifier: Apache-2.0
// The frames of a recorded stack: what its return addresses are called, a mark where a tail call
// has left none, and Python's frames between the native ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analyzer/model/finding.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {

// What an address in a module is called: innermost first, never empty.
using AddressNames = std::function<std::vector<Frame>(const Module&, std::uint64_t address)>;

// Innermost first. An address in no module is a frame with the address alone. `keep_interpreter`:
// the interpreter's own frames stay beside Python's.
std::vector<Frame> stack_frames(const StackTable& stacks, StackId stack,
                                std::span<const Module> modules, const AddressNames& names,
                                bool keep_interpreter);

} // namespace gmt
