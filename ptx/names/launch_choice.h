// SPDX-License-Identifier: Apache-2.0
// Which launches of a kernel --launches means, and which processes --processes.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt::ptx {

class LaunchChoice {
public:
  static constexpr char kAllowed[] = "numbers of launches, from 1 on: 10..20, 10.., ..20 or 15";

  LaunchChoice() = default; // all launches
  // "10..20", "10..", "..20" or "15": numbers from 1 on. Empty: not given. Throws
  // std::invalid_argument with kAllowed.
  explicit LaunchChoice(std::string_view text);

  bool includes(std::uint64_t number) const noexcept { return first_ <= number && number <= last_; }

private:
  std::uint64_t first_ = 1, last_ = ~std::uint64_t{0};
};

// Whether a program, by its path, is one of those in the list: names without folders, separated by
// commas, with '*' and '?' for any characters, or one. An empty list has all.
bool is_among_programs(std::string_view list, std::string_view path);
// The same of the calling process.
bool is_own_program_among(std::string_view list);

} // namespace gmt::ptx
