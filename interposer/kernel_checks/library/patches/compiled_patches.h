// SPDX-License-Identifier: Apache-2.0
// check_access.cu, compiled when the library was built; empty if there was no nvcc.
#pragma once

#include <span>

namespace gmt::interposer::kernel_checks {

std::span<const char> compiled_patches() noexcept; // a fat binary

} // namespace gmt::interposer::kernel_checks
