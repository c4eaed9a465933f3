// SPDX-License-Identifier: Apache-2.0
// See source_lines.h.

#include "analyzer/report/html/source_lines.h"

#include <algorithm>
#include <fstream>

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
  for (const auto& [file, wanted] : wanted_) {
    if (!is_source_file(file)) continue;
    std::ifstream in(file, std::ios::binary);
    std::string line;
    for (std::uint32_t number = 1; number <= *wanted.rbegin() && std::getline(in, line); ++number) {
      if (!wanted.contains(number)) continue;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      line.resize(std::min(line.size(), kLongestLine));
      text += line.size();
      if (text > kMostText) return found;
      found[file][number] = line;
    }
  }
  return found;
}

} // namespace gmt::html
