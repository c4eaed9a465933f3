// SPDX-License-Identifier: Apache-2.0
// Lines and statements of the program's sources: those that its trace holds, else those that its
// files have now. A statement may have several lines, and compilers differ in which of them a call
// is. Names of files come from the traced program, so only regular files whose name is that of
// source code are read, and never more than a bounded amount.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/model/reported_finding.h"

namespace gmt {

inline constexpr std::uintmax_t kLargestSourceFile = 8 << 20;

// For reading, with all links followed; none if the file there is no source code, or too large.
Descriptor open_source_file(const std::filesystem::path& path);

// Files on this machine. Each is read once.
class SourceFiles {
public:
  // Of which the line is one: without comments, on one line. Nothing if it cannot be had.
  std::optional<std::string> statement(const std::string& file, std::uint32_t line);
  // As it stands there, without blanks at its ends; a tab is one blank.
  std::optional<std::string> line(const std::string& file, std::uint32_t line);

private:
  using Lines = std::vector<std::string>;
  const Lines& lines_of(const std::string& file);

  std::map<std::string, Lines> files_;
  std::size_t bytes_ = 0;
};

// The lines of one process's findings: the trace's file `source-lines` (trace/FORMAT.md).
class TraceSources {
public:
  TraceSources() = default; // knows none
  // `files` must live as long.
  TraceSources(const std::filesystem::path& trace, SourceFiles& files);

  // Sets source_lines, if all of them are known, and the code of each stack.
  void add_lines(ReportedFinding& finding);
  // Puts what was asked for into the trace. On failure a sentence that says why.
  std::optional<std::string> write() const;

private:
  struct Text {
    std::string statement;
    std::optional<std::string> line = {}; // older traces lack it
  };

  const Text* text_of(const Frame& frame);

  std::filesystem::path trace_;
  SourceFiles* files_ = nullptr;
  std::map<std::pair<std::string, std::uint32_t>, Text> lines_;
  bool has_new_ = false;
};

// Without the comment that reaches to the line's end.
std::string_view without_comment(std::string_view line);
// Without comment and blanks, so that a change of form leaves it as it is.
std::string normal_line(std::string_view line);
// As a person reads it: without comment, blanks at its ends and runs of blanks.
std::string tidy_line(std::string_view line);

} // namespace gmt
