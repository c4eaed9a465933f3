// SPDX-License-Identifier: Apache-2.0
// See source_lines.h.

#include "analyzer/report/html/source_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace gmt::html {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = 8 << 20;
constexpr std::size_t kLongestLine = 300, kMostText = 4 << 20;

bool is_source_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 19> kEndings = {
    ".c",   ".cc",  ".cpp", ".cxx", ".c++", ".cu",  ".cuh", ".h",   ".hh", ".hpp",
    ".hxx", ".inl", ".ipp", ".tcc", ".tpp", ".inc", ".py",  ".pyx", ".f90"};
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

bool can_be_read(const fs::path& path) {
  std::error_code error;
  if (!is_source_name(path) || !fs::is_regular_file(path, error)) return false;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && size <= kLargestFile;
}

// A file of a link with such a name may be anything.
bool is_source_file(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return !error && is_source_name(real) && can_be_read(path);
}

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
