// SPDX-License-Identifier: Apache-2.0
// Files and lines of the sources, see source_paths.h.
#include "analyzer/report/source_paths.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "analyzer/base/path.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

std::string normal(std::string_view path) { return fs::path(path).lexically_normal().string(); }

std::string as_folder(std::string_view path) {
  std::string folder = normal(path);
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  return folder;
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

template <class Visit> void for_each_frame(const Report& report, Visit visit) {
  for (const ReportedFinding& finding : report.findings)
    for (const LabelledStack& stack : finding.stacks)
      for (const Frame& frame : stack.frames) visit(frame);
}

// Of the program's own entry: main(), or the outermost code of a Python script of the user's.
std::string folder_of_main(const Report& report) {
  std::string folder, script;
  for_each_frame(report, [&](const Frame& frame) {
    if (frame.file.empty()) return;
    const bool is_script = frame.language == "python" && frame.function == "<module>";
    if (folder.empty() && bare_function(frame.function) == "main")
      folder = as_folder(fs::path(frame.file).parent_path().string());
    if (is_script && is_users_frame(frame))
      script = as_folder(fs::path(frame.file).parent_path().string());
  });
  return folder.empty() ? script : folder;
}

// Where a path ends that begins in the text: no more than what paths usually consist of.
std::size_t path_end(std::string_view text, std::size_t begin) {
  constexpr std::string_view kEnds = " \t\n\r\"'`,;:()<>[]{}|";
  return std::min(text.find_first_of(kEnds, begin), text.size());
}

bool begins_path(std::string_view text, std::size_t at) {
  constexpr std::string_view kBefore = "._-/~*";
  if (text[at] != '/' || at + 1 == text.size()) return false;
  const bool inside_word = at > 0 && (is_alphanumeric(text[at - 1]) ||
                                      kBefore.find(text[at - 1]) != std::string_view::npos);
  return !inside_word && text[at + 1] != ' ';
}

} // namespace

SourcePaths::SourcePaths(const Report& report, std::string_view root)
    : report_(report), root_(as_folder(root)) {
  bool any = false;
  for_each_frame(report, [&](const Frame& frame) { any = any || !relative(frame).empty(); });
  if (!any) root_ = folder_of_main(report);
}

std::string SourcePaths::relative(const Frame& frame) const {
  if (frame.file.empty() || frame.file.starts_with('<')) return {}; // "<string>" of Python
  std::string file = normal(frame.file);
  if (file.starts_with("../") || file == ".." || file.ends_with('/')) return {};
  if (!file.starts_with('/')) return file;
  if (root_.empty() || !file.starts_with(root_) || file.size() == root_.size()) return {};
  return file.substr(root_.size());
}

FilePosition SourcePaths::line_of(const CallStack& stack) const {
  for (const Frame& frame : stack.frames) {
    std::string file = relative(frame);
    if (!file.empty()) return {std::move(file), std::max(frame.line, 1u), &frame};
  }
  return {};
}

FilePosition SourcePaths::line_of(const ReportedFinding& finding) const {
  for (const LabelledStack& stack : finding.stacks) {
    if (FilePosition line = line_of(stack)) return line;
  }
  std::string program = "unknown";
  if (finding.process < report_.processes.size()) {
    const std::string_view name = base_name(report_.processes[finding.process].executable);
    if (!name.empty()) program = name;
  }
  return {std::move(program)};
}

std::string without_folders(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!begins_path(text, i)) {
      out += text[i];
      continue;
    }
    const std::size_t end = path_end(text, i);
    std::string_view path = text.substr(i, end - i);
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    out += base_name(path);
    i = end - 1;
  }
  return out;
}

std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain = "-._~/";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x80 && is_alphanumeric(c)) || kPlain.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += '%';
      uri += kDigits[byte >> 4];
      uri += kDigits[byte & 15];
    }
  }
  return uri;
}

} // namespace gmt
