// SPDX-License-Identifier: Apache-2.0
// A launch of a checked form that the driver took.
#pragma once

#include <cstdint>

namespace gmt::interposer::kernel_checks {

struct Module;

struct Launch {
  std::uint64_t number = 0; // in its context, from 1: launches of plain forms count, too
  std::uint64_t call = 0;   // its order in the trace
  std::uint64_t function = 0, stream = 0;
  const Module* module = nullptr;
  const char* kernel = nullptr; // lives as long as the process
  std::uint32_t grid[3] = {}, block[3] = {};
};

} // namespace gmt::interposer::kernel_checks
