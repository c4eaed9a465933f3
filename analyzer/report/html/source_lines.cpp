// SPDX-License-Identifier: Apache-2.0

#include "analyzer/report/html/source_lines.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/report/source_text.h"

namespace gmt::html {
namespace {

constexpr std::size_t kLongestLine = 300, kMostText = 4 << 20;

} // namespace

void SourceLines::add(const std::string& file, std::uint32_t line) {
  if (file.empty() || line == 0) return;
  std::set<std::uint32_t>& lines = wanted_[file];
  const std::uint32_t first = line > kReach ? line - kReach : 1;
  for (std::uint32_t i = first; i <= line + kReach && i >= first; ++i) lines.insert(i);
}

std::map<std::string, SourceLines::Lines> SourceLines::files() const {
  std::map<std::string, Lines> found;
  std::size_t text = 0;
  for (const auto& entry : wanted_) {
    const std::string& file = entry.first;
    const std::set<std::uint32_t>& wanted = entry.second;
    std::uint32_t number = 0;
    for_each_line_of(open_source_file(file), [&](std::string_view text_line) {
      if (++number > *wanted.rbegin()) return false;
      if (!wanted.contains(number)) return true;
      std::string line(text_line);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      line.resize(std::min(line.size(), kLongestLine));
      text += line.size();
      if (text > kMostText) return false;
      found[file][number] = std::move(line);
      return true;
    });
    if (text > kMostText) break;
  }
  return found;
}

} // namespace gmt::html
