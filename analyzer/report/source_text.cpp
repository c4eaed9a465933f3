// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ostream>
#include <sstream>
#include <system_error>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/report/code_line.h"
#include "analyzer/report/fingerprint.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 500, kLongestStatement = 1000;
constexpr std::size_t kMostLines = 20; // of a statement, before and behind the one asked for
constexpr std::size_t kMostCached = 64 << 20;
constexpr std::size_t kLargestStored = 16 << 20;
constexpr const char* kFileName = "source-lines";

bool is_source_name(const fs::path& path) {
  static constexpr std::array<std::string_view, 19> kEndings = {
    ".c",   ".cc",  ".cpp", ".cxx", ".c++", ".cu",  ".cuh", ".h",   ".hh", ".hpp",
    ".hxx", ".inl", ".ipp", ".tcc", ".tpp", ".inc", ".py",  ".pyx", ".f90"};
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool separates_digits(std::string_view line, std::size_t at) { // 1'000'000
  return at > 0 && std::isdigit(static_cast<unsigned char>(line[at - 1])) != 0;
}

// Where a comment begins that reaches to the line's end, as C++ and Python write it. A directive of
// the preprocessor begins with '#', too, and makes no call.
std::size_t comment_begin(std::string_view line) {
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == '\\') ++i;
      else if (c == quote) quote = '\0';
    } else if (c == '"' || (c == '\'' && !separates_digits(line, i))) {
      quote = c;
    } else if (c == '#' || line.substr(i).starts_with("//")) {
      return i;
    }
  }
  return line.size();
}

// That a finding is about; empty if none is.
std::string_view kernel_of(const ReportedFinding& finding) {
  for (const LabelledStack& stack : finding.stacks)
    if (stack.device) return stack.device->kernel;
  return {};
}

// Or is none: empty, a comment, a directive.
bool ends_statement(std::string_view line) {
  const std::string text = tidy_line(line);
  return text.empty() || std::string_view(";{}:").find(text.back()) != std::string_view::npos;
}

} // namespace

// The file of a link with such a name may be anything, and a name may change its file meanwhile: so
// the open file is asked for its own.
Descriptor open_source_file(const fs::path& path) {
  if (!is_source_name(path)) return Descriptor();
  Descriptor file = open_regular(path);
  std::error_code error;
  const fs::path own =
    fs::read_symlink(cat({"/proc/self/fd/", std::to_string(file.number())}), error);
  if (error || !is_source_name(own) || bytes_of(file) > kLargestSourceFile) return Descriptor();
  return file;
}

const SourceFiles::Lines& SourceFiles::lines_of(const std::string& file) {
  if (const auto at = files_.find(file); at != files_.end()) return at->second;
  if (bytes_ > kMostCached) {
    files_.clear();
    bytes_ = 0;
  }
  Lines& lines = files_[file];
  for_each_line_of(open_source_file(file), [&](std::string_view text) {
    if (text.ends_with('\r')) text.remove_suffix(1);
    lines.emplace_back(text.substr(0, kLongestLine));
    bytes_ += lines.back().size() + sizeof lines.back();
    return true;
  });
  return lines;
}

std::optional<std::string> SourceFiles::statement(const std::string& file, std::uint32_t line) {
  if (file.empty() || line == 0) return std::nullopt;
  const Lines& lines = lines_of(file);
  if (line > lines.size()) return std::nullopt;
  const std::size_t at = line - 1;
  if (file.ends_with(".py")) return tidy_line(lines[at]); // no character ends a statement there
  std::size_t first = at, last = at;
  while (first > 0 && at - first < kMostLines && !ends_statement(lines[first - 1])) --first;
  while (last + 1 < lines.size() && last - at < kMostLines && !ends_statement(lines[last])) ++last;
  std::string text;
  for (std::size_t i = first; i <= last; ++i)
    text += (text.empty() ? "" : " ") + tidy_line(lines[i]);
  text.resize(std::min(text.size(), kLongestStatement));
  return tidy_line(text);
}

std::optional<std::string> SourceFiles::line(const std::string& file, std::uint32_t line) {
  if (file.empty() || line == 0) return std::nullopt;
  const Lines& lines = lines_of(file);
  if (line > lines.size()) return std::nullopt;
  std::string text = lines[line - 1];
  std::ranges::replace_if(text, is_blank, ' ');
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return std::nullopt;
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

TraceSources::TraceSources(const fs::path& trace, SourceFiles& files)
    : trace_(trace), files_(&files) {
  constexpr std::size_t kFields = 3; // later versions may append more
  const fs::path path = trace / kFileName;
  const std::optional<std::string> stored = read_in_folder(path, kLargestStored + 1);
  if (!stored || stored->size() > kLargestStored) return;
  std::istringstream in(*stored);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string_view> field = split_tabs(line);
    if (field.size() < kFields) continue;
    const auto number = parse_number<std::uint32_t>(field[1]);
    if (!number) continue;
    Text text{unescape(field[2])};
    if (field.size() > kFields) text.line = unescape(field[kFields]);
    lines_.insert_or_assign({unescape(field[0]), *number}, std::move(text));
  }
}

const TraceSources::Text* TraceSources::text_of(const Frame& frame) {
  if (files_ == nullptr || frame.file.empty() || frame.line == 0) return nullptr;
  const auto key = std::pair(frame.file, frame.line);
  if (const auto at = lines_.find(key); at != lines_.end()) return &at->second;
  std::optional<std::string> found = files_->statement(frame.file, frame.line);
  if (!found) return nullptr;
  has_new_ = true;
  Text text{std::move(*found), files_->line(frame.file, frame.line)};
  return &lines_.emplace(key, std::move(text)).first->second;
}

void TraceSources::add_lines(ReportedFinding& finding) {
  for (LabelledStack& stack : finding.stacks) {
    const std::optional<std::size_t> own = own_frame(stack);
    const Text* text = own ? text_of(stack.frames[*own]) : nullptr;
    if (text == nullptr || !text->line) continue;
    const bool is_launch = stack.api.find("Launch") != std::string::npos;
    stack.code = code_line(stack, *own, *text->line, is_launch ? kernel_of(finding) : "");
  }
  std::vector<std::string> lines;
  for (const Frame& frame : distinguishing_frames(finding)) {
    const Text* text = text_of(frame);
    if (text == nullptr) return;
    lines.push_back(text->statement);
  }
  finding.source_lines = std::move(lines);
}

std::optional<std::string> TraceSources::write() const {
  if (!has_new_) return std::nullopt;
  const fs::path path = trace_ / kFileName;
  const WriteFailure failure = replace_file(path, Into::kOwnTrace, [this](std::ostream& out) {
    for (const auto& [position, text] : lines_) {
      out << escape(position.first) << '\t' << position.second << '\t' << escape(text.statement);
      if (text.line) out << '\t' << escape(*text.line);
      out << '\n';
    }
  });
  if (!failure) return std::nullopt;
  return std::string("The source lines of findings could not be ") + failure.what + " " +
         path.string() + " (" + failure.why +
         "): on other machines this trace's findings are known by their functions alone.";
}

std::string_view without_comment(std::string_view line) {
  const std::string_view code = line.substr(0, comment_begin(line));
  return code.substr(0, code.find_last_not_of(" \t") + 1);
}

std::string normal_line(std::string_view line) {
  std::string text(line.substr(0, comment_begin(line)));
  std::erase_if(text, is_blank);
  return text;
}

std::string tidy_line(std::string_view line) {
  std::string text;
  for (const char c : line.substr(0, comment_begin(line))) {
    if (!is_blank(c)) text += c;
    else if (!text.empty() && text.back() != ' ') text += ' ';
  }
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

} // namespace gmt
