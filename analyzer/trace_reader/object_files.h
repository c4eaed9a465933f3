// SPDX-License-Identifier: Apache-2.0
// Which object files were mapped where and when, from the trace's `modules` file. An address means
// the module that held it at the time (order) of the event.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gmt {

struct Module {
  std::uint64_t start = 0, end = 0; // the mapped range, end exclusive
  std::uint64_t bias = 0;           // load bias: address - bias is the address in the object file
  std::string build_id;             // hex, empty if the file has none
  std::string path;
  std::uint64_t loaded = 0;            // order
  std::uint64_t unloaded = UINT64_MAX; // order
  // Memory of it that the program may write, each with its end: where its variables are. Since 1.5.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> variables = {};
};

inline constexpr std::uint64_t kAnyOrder = UINT64_MAX;

// The module that held the address at that order; with kAnyOrder the one loaded last. nullptr if
// none did.
const Module* find_module(std::span<const Module> modules, std::uint64_t address,
                          std::uint64_t order = kAnyOrder);

} // namespace gmt
