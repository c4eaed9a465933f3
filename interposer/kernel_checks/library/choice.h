// SPDX-License-Identifier: Apache-2.0
// Which kernels and how many of their launches the user wants to be checked.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::interposer::kernel_checks {

bool are_all_chosen() noexcept;
bool is_chosen(std::string_view linked); // a kernel, by its name as it is linked
// A kernel with more accesses in its code is checked only if --only-kernels is given: ptxas took 37
// s for 3,000, and 13 for the plain ones. With `init`, whose code has copies, it takes longer.
inline constexpr std::uint32_t kMostAccesses = 3000, kMostFollowed = 1500;
inline constexpr char kNotChosen[] = "left out, as --only-kernels or --skip-kernels ask";

std::uint64_t checked_launches() noexcept;            // of each kernel
bool is_chosen_launch(std::uint64_t number) noexcept; // of a kernel, from 1
bool is_in_chosen_range() noexcept;                   // now, on this thread

} // namespace gmt::interposer::kernel_checks
