// SPDX-License-Identifier: Apache-2.0
// Columns, wrapping and words of the text report, see text_layout.h.
#include "analyzer/report/formats/text_layout.h"

#include <filesystem>

#include <fmt/format.h>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"

namespace gmt::text {
namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

// A word as a shell would read it back.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

} // namespace

std::string Page::shown(std::string_view text, std::string_view way) const {
  return color ? cat({"\033[", way, "m", text, "\033[0m"}) : std::string(text);
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) n += starts_character(c) ? 1 : 0;
  return n;
}

std::string pad(std::string_view text, std::size_t width) {
  const std::size_t taken = columns(text);
  return std::string(text).append(taken < width ? width - taken : 0, ' ');
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t first_indent,
                 std::size_t width) {
  std::string out(first_indent, ' ');
  std::size_t column = first_indent;
  bool line_empty = true;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find(' ', at), text.size());
    if (text.substr(end).starts_with(" %"))
      end = std::min(text.find(' ', end + 1), text.size()); // "23 %" is one
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::size_t taken = columns(word);
    if (!line_empty && column + 1 + taken > width) {
      out.append(1, '\n').append(indent, ' ');
      column = indent;
      line_empty = true;
    }
    if (!line_empty) out += ' ';
    out += word;
    column += taken + (line_empty ? 0 : 1);
    line_empty = false;
  }
  return out + "\n";
}

namespace {

// For pages that are too narrow for columns: "name", and below it "head cell, head cell".
std::string records_of(const Table& table, std::size_t rows, std::size_t indent,
                       std::size_t width) {
  std::string out = wrap(table.heads[0], indent + 2, indent, width);
  for (std::size_t r = 0; r < rows; ++r) {
    const Table::Row& row = table.rows[r];
    out += wrap(row[0], indent + 4, indent + 2, width);
    std::string cells;
    for (std::size_t c = 1; c < row.size(); ++c)
      cells += cat({cells.empty() ? "" : ", ", table.heads[c], " ", row[c]});
    out += wrap(cells, indent + 6, indent + 6, width);
  }
  return out;
}

} // namespace

std::string lines_of(const Table& table, std::size_t rows, std::size_t indent, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const std::string& head : table.heads) widths.push_back(columns(head));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < table.rows[r].size(); ++c) {
      widths[c] = std::max(widths[c], columns(table.rows[r][c]) + (c == 0 ? 2 : 0));
    }
  }
  std::size_t all = indent;
  for (const std::size_t each : widths) all += each + (all == indent ? 0 : 3);
  if (all > width && width < kFileWidth) return records_of(table, rows, indent, width);
  std::string out;
  const auto add_row = [&](const Table::Row& row, std::size_t further) {
    std::string line = std::string(indent + further, ' ') + pad(row[0], widths[0] - further);
    for (std::size_t c = 1; c < row.size(); ++c) {
      line.append(3 + widths[c] - columns(row[c]), ' ').append(row[c]);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_row(table.heads, 0);
  for (std::size_t r = 0; r < rows; ++r) add_row(table.rows[r], 2);
  return out;
}

std::string command_line(const ProcessReport& process) {
  std::string line;
  for (const std::string& word : process.arguments)
    line += (line.empty() ? "" : " ") + quoted(word);
  return printable(line.empty() ? process.executable : line);
}

std::string location(const Frame& frame, const std::string& folder) {
  if (frame.tail_call) return "(tail call)";
  if (frame.file.empty()) {
    if (frame.module.empty() && frame.address == 0) return "(line unknown)"; // in a kernel
    if (frame.module.empty()) return format_address(frame.address);
    if (frame.address == 0) return printable(base_name(frame.module));
    return printable(
      fmt::format("{}+{}", base_name(frame.module), format_address(frame.module_offset)));
  }
  std::string file = std::filesystem::path(frame.file).lexically_normal().string();
  if (folder.size() > 1 && file.starts_with(folder + "/")) file.erase(0, folder.size() + 1);
  return printable(frame.line != 0 ? fmt::format("{}:{}", file, frame.line) : file);
}

std::string amount(const ReportedFinding& finding) {
  if (finding.measure != Measure::kMistakes) {
    return fmt::format("{} in {}", format_bytes(finding.bytes),
                       format_plural(finding.count, "block"));
  }
  std::string text = finding.count > 1 ? format_plural(finding.count, "time") : "";
  if (finding.bytes != 0) text += (text.empty() ? "" : ", ") + format_bytes(finding.bytes);
  return text;
}

} // namespace gmt::text
