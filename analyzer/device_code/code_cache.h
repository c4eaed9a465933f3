// SPDX-License-Identifier: Apache-2.0
// The trace's `code` file (trace/FORMAT.md): instructions and lines of the functions that were
// measured, found once where the binaries were, so that a report made elsewhere shows the same.
// Read and written by TraceCode. A file that is missing, damaged or from another hand is no error:
// lines that make no sense are left out and counted, and a function that lost some of its own is
// left out whole.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyzer/device_code/instruction.h"

namespace gmt {

class CodeFile {
public:
  static CodeFile read(const std::filesystem::path& trace);

  std::uint64_t damaged_lines() const { return damaged_lines_; }

  // The function of that name in which every offset is an access of memory; nullptr if there is
  // none. What it points to stays until the file is destroyed.
  const FunctionCode* find(std::string_view name, std::span<const std::uint32_t> offsets) const;
  void add(FunctionCode code);

  // Replaces the trace's file in one step. On failure a sentence that says why, nothing on success.
  std::optional<std::string> write(const std::filesystem::path& trace) const;

private:
  std::deque<FunctionCode> functions_;
  std::multimap<std::string, const FunctionCode*, std::less<>> by_name_;
  std::uint64_t damaged_lines_ = 0;
};

} // namespace gmt
