// SPDX-License-Identifier: Apache-2.0
// What a Module holds. The text is behind a pointer of its own: views into it survive moves.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

// The bytes of .section .debug_str, and where its labels stand in them.
struct DebugNames {
  std::string bytes;
  std::unordered_map<std::string_view, std::size_t> labels;
};

struct Module::Data {
  std::string text;
  std::uint32_t version = 0;
  std::uint32_t target = 0;
  std::string_view target_name;
  bool debug = false;
  std::uint32_t address_size = 32;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::unordered_map<std::string_view, Symbol> names;
  std::unordered_map<std::uint32_t, std::string_view> files;
  // .debug_str, between its braces; read when the first name is asked for.
  std::size_t names_begin = 0;
  std::size_t names_end = 0;
  mutable std::once_flag names_once;
  mutable DebugNames debug_names;
  // Where each line begins; found when the first line is asked for.
  mutable std::once_flag lines_once;
  mutable std::vector<std::uint32_t> line_begins;
};

} // namespace gmt::ptx
