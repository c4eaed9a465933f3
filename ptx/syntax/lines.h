// SPDX-License-Identifier: Apache-2.0
// Source lines of a function's instructions: a line id is a stack of (file, line, function), the
// inlined functions first. Files are numbers of .file; names are as the linker has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gmt::ptx {

class Module;

struct SourceLine {
  std::uint32_t file = 0; // of Module::file()
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t inlined_at = 0;      // line id of the call; 0: not inlined
  std::string_view function_label;   // the inlined function's name: a label of .debug_str
  std::uint64_t function_offset = 0; // and an offset

  bool operator==(const SourceLine&) const = default;
};

// A resolved line. `function` is empty in the last frame: it is the function of the body.
struct SourceFrame {
  std::string_view file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::string_view function;
};

class LineTable {
public:
  LineTable() : lines_(1) {} // id 0 is "unknown"

  std::size_t size() const { return lines_.size(); }
  const SourceLine& operator[](std::uint32_t id) const { return lines_[id]; }
  std::uint32_t add(const SourceLine& line); // the id
  // The id of the newest line with the file, line and column of this one; it is added if there is
  // none.
  std::uint32_t find_or_add(const SourceLine& line);
  // Innermost first; empty for id 0.
  std::vector<SourceFrame> stack(const Module& module, std::uint32_t id) const;

private:
  struct Key {
    std::uint32_t file, line, column;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  std::vector<SourceLine> lines_;
  std::unordered_map<Key, std::uint32_t, KeyHash> newest_; // id
};

} // namespace gmt::ptx
