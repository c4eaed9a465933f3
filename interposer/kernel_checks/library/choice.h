// SPDX-License-Identifier: Apache-2.0
// Which kernels and how many of their launches the user wants to be checked.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer::kernel_checks {

bool are_all_chosen() noexcept;
bool is_chosen(std::string_view linked); // a kernel, by its name as it is linked
// A kernel with more accesses in its code is checked only if --only-kernels is given. With twice
// the accesses, 1,000 in the place of 500, ptxas took 27 s in the place of 8.
inline constexpr std::uint32_t kMostAccesses = 1500;
inline constexpr char kNotChosen[] = "left out, as --only-kernels or --skip-kernels ask";

std::uint64_t checked_launches() noexcept;            // of each kernel
bool is_chosen_launch(std::uint64_t number) noexcept; // of a kernel, from 1
bool is_in_chosen_range() noexcept;                   // now, on this thread

} // namespace gmt::interposer::kernel_checks
