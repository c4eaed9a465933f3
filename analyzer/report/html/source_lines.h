// SPDX-License-Identifier: Apache-2.0
// Lines of source files around those that a report names, as far as the files are here now.
//
// Invariants: names come from the traced program, so only regular files whose name is that of
// source code are read, and a report never holds more than a bounded amount of text.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace gmt::html {

class SourceLines {
public:
  static constexpr std::uint32_t kReach = 3;          // lines on either side
  using Lines = std::map<std::uint32_t, std::string>; // by number, from 1

  void add(const std::string& file, std::uint32_t line);
  // Those of files that were found.
  std::map<std::string, Lines> files() const;

private:
  std::map<std::string, std::set<std::uint32_t>> wanted_;
};

} // namespace gmt::html
