// SPDX-License-Identifier: Apache-2.0
// One fuzz input is the text of one module of PTX, whose kernels are run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::test {

// Loads the module and runs its kernels in small grids, with limits. Returns for every input, or
// something is wrong. Beside what a kernel may reach lie pages without any access.
void execute_ptx_input(const std::uint8_t* data, std::size_t size);

// Of all inputs so far: kernels that ran, to their end or to a limit.
std::uint64_t executed_kernels();

} // namespace gmt::test
