// SPDX-License-Identifier: Apache-2.0
// A library in a context: its module for the executor, and the memory of its variables.
// Driver lock held. Invariants: a variable's memory is a block of kind kGlobal, which copies reach
// and cuMemFree does not; a managed variable exists once, for all contexts. The variables of code
// that is executed exist, with their first values, before anything asks for one of them.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/state/block.h"

#include <cstddef>

namespace gmt::sim {

Module* instance_in(Library* library, Context* context);

// Reads the code and makes its variables; done once.
CUresult prepare(Module& module);

CUresult get_global(CUdeviceptr* address, std::size_t* bytes, Module* module, const char* name);
CUresult get_managed(CUdeviceptr* address, std::size_t* bytes, Library* library, const char* name);
// Of the variable whose memory the block is; empty if it is none's.
std::string variable_of(const Block& block);
void free_variables(Module* module);
void free_managed_variables(Library* library);

} // namespace gmt::sim
