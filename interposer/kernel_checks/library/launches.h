// SPDX-License-Identifier: Apache-2.0
// The last launches of checked forms, by which a record's grid finds the launch that is meant.
// Written at each launch and read while others are made: no lock, no allocation.
#pragma once

#include <cstdint>

namespace gmt::interposer::kernel_checks {

struct Module;

// That the driver took.
struct Launch {
  std::uint64_t number = 0; // in its context, from 1: launches of plain forms count, too
  std::uint64_t call = 0;   // its order in the trace
  std::uint64_t function = 0, stream = 0;
  const Module* module = nullptr;
  const char* kernel = nullptr; // lives as long as the process
  std::uint32_t grid[3] = {}, block[3] = {};
};

void count_launch() noexcept;                          // of a plain form
std::uint64_t remember_launch(Launch launch) noexcept; // its number, which is set here
std::uint64_t launch_count() noexcept;
// False: it was of a plain form, is too old, or is being written.
bool find_launch(std::uint64_t number, Launch* to) noexcept;
constexpr std::uint64_t kMostLaunches = 65536; // that are remembered
void forget_launches() noexcept;               // of a context that has ended

} // namespace gmt::interposer::kernel_checks
