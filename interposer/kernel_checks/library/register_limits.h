// SPDX-License-Identifier: Apache-2.0
// How many registers a kernel may use, so that it can be launched with as many threads as the
// program expects. A checked form needs more than the plain one; a launch of 1,024 threads of a
// form with more than 64 registers fails.
//
// Source: CUDA C++ Programming Guide, "Compute Capabilities": from 5.0 on a multiprocessor has
// 65,536 registers, in four parts that each run whole warps; a thread's are counted by eights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "ptx/syntax/ptx.h"

namespace gmt::interposer::kernel_checks {

using RegisterCounts = std::map<std::string, std::uint32_t, std::less<>>; // by kernel

// The most registers that leave a kernel as many threads a block as `registers` do; at most 255.
std::uint32_t most_for_equal_threads(std::uint32_t registers);
// What machine code (a cubin) says of its kernels. Empty if it is damaged, or something else.
RegisterCounts registers_of(std::string_view cubin);
// Whether a kernel says itself how many registers or threads it is to have.
bool has_limit(const ptx::Function& kernel);
// The text, whose kernels get a limit (`.maxnreg`) where `most` gives one that is not 0. Kernels
// that have a limit stay as they are.
std::string limit_registers(const std::string& text,
                            const std::function<std::uint32_t(std::string_view kernel)>& most);

} // namespace gmt::interposer::kernel_checks
