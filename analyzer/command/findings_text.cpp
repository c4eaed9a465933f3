// SPDX-License-Identifier: Apache-2.0
// Markdown of the few forms that docs/findings/ uses: paragraphs, **bold** beginnings, `code`,
// blocks in fences or indented, comments for the tests. Paragraphs are wrapped anew, blocks stay as
// they are.

#include "analyzer/command/findings_text.h"

#include <algorithm>

extern "C" const char gmt_findings_begin[];
extern "C" const char gmt_findings_end[];

namespace gmt {
namespace {

constexpr std::size_t kWidth = 100;

// From below the heading to the next one, or to the next page.
std::string_view section_of(std::string_view all, std::string_view id) {
  const std::string heading = "\n## " + std::string(id) + "\n";
  const std::size_t at = all.find(heading);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = all.substr(at + heading.size());
  return rest.substr(0, std::min(rest.find("\n## "), rest.find("\n# ")));
}

std::string without_marks(std::string_view line) {
  std::string plain;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '`') continue;
    if (line.substr(i).starts_with("**")) {
      ++i;
      continue;
    }
    plain += line[i];
  }
  return plain;
}

std::string wrapped(std::string_view text) {
  std::string result, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      result += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  return line.empty() ? result : result + line + "\n";
}

} // namespace

std::string finding_section(std::string_view id) {
  std::string_view left = section_of(
    {gmt_findings_begin, static_cast<std::size_t>(gmt_findings_end - gmt_findings_begin)}, id);
  std::string result, paragraph;
  bool fenced = false;
  const auto end_paragraph = [&] {
    result += wrapped(without_marks(paragraph));
    paragraph.clear();
  };
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (line.starts_with("```")) {
      fenced = !fenced;
    } else if (fenced || line.starts_with("    ")) {
      result += (fenced && !line.empty() ? "    " : "") + std::string(line) + "\n";
    } else if (line.empty()) {
      end_paragraph();
      if (!result.empty() && !result.ends_with("\n\n")) result += "\n";
    } else if (!line.starts_with("<!--")) {
      paragraph += std::string(line) + "\n";
    }
  }
  end_paragraph();
  return result;
}

} // namespace gmt
