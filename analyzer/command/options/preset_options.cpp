// SPDX-License-Identifier: Apache-2.0
#include "analyzer/command/options/preset_options.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/command/command.h"
#include "analyzer/command/options/option_table.h"

namespace gmt {

namespace {

namespace fs = std::filesystem;

constexpr const char* kConfigName = "gpumemtrace.toml";
constexpr const char* kVariable = "GPUMEMTRACE_OPTIONS";

bool takes_presets(CommandId command) {
  return (bit(command) & (kProgramCommands | bit(CommandId::kReport) | bit(CommandId::kDiff))) != 0;
}

std::string without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin));
}

// One "name = value" or "[section]" a line.
class ConfigLine {
public:
  ConfigLine(const fs::path& file, std::size_t number, std::string_view line)
      : file_(file), number_(number), rest_(without_blanks(line)) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw UserError(file_.string() + ":" + std::to_string(number_) + ": " + why,
                    ExitStatus::kUsage);
  }
  bool is_empty() const { return rest_.empty() || rest_[0] == '#'; }

  // "check" of "[check]"; nothing if the line is no section.
  std::optional<std::string> section() {
    if (rest_[0] != '[') return std::nullopt;
    const std::size_t end = rest_.find(']');
    if (end == std::string::npos) fail("a section lacks its ']'");
    std::string name = without_blanks(std::string_view(rest_).substr(1, end - 1));
    rest_.erase(0, end + 1);
    end_here();
    if (!find_command(name))
      fail("'" + name + "' is no command; sections are named after commands");
    return name;
  }
  std::string name() {
    const std::size_t equals = rest_.find('=');
    if (equals == std::string::npos) fail("expected: name = value");
    std::string name = without_blanks(std::string_view(rest_).substr(0, equals));
    rest_ = without_blanks(std::string_view(rest_).substr(equals + 1));
    if (name.size() > 1 && name.front() == '"' && name.back() == '"')
      name = name.substr(1, name.size() - 2);
    return name;
  }
  std::vector<std::string> values() {
    std::vector<std::string> all;
    if (rest_.empty()) fail("a value is missing behind '='");
    if (rest_[0] != '[') {
      all.push_back(value());
    } else {
      skip(1);
      while (!rest_.empty() && rest_[0] != ']') {
        all.push_back(value());
        if (!rest_.empty() && rest_[0] == ',') skip(1);
        else if (rest_.empty() || rest_[0] != ']')
          fail("a list needs ',' or ']' here, on one line");
      }
      if (rest_.empty()) fail("a list lacks its ']' on the same line");
      skip(1);
    }
    end_here();
    return all;
  }

private:
  void skip(std::size_t characters) {
    rest_ = without_blanks(std::string_view(rest_).substr(characters));
  }
  void end_here() const {
    if (const std::string after = without_blanks(rest_); !after.empty() && after[0] != '#')
      fail("'" + after + "' is too much here");
  }

  std::string value() {
    const char quote = rest_[0];
    if (quote != '"' && quote != '\'') {
      const std::size_t end = std::min(rest_.find_first_of(" \t,]#"), rest_.size());
      const std::string word = rest_.substr(0, end);
      const bool is_number = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
        return std::isdigit(c) != 0 || c == '_';
      });
      if (!is_number && word != "true" && word != "false")
        fail("texts stand in quotes: \"" + word + "\"");
      skip(end);
      std::string plain = word;
      std::erase(plain, '_');
      return plain;
    }
    std::string text;
    std::size_t at = 1;
    for (; at < rest_.size() && rest_[at] != quote; ++at) {
      if (rest_[at] == '\\' && quote == '"' && at + 1 < rest_.size()) {
        ++at;
        if (rest_[at] != '"' && rest_[at] != '\\') fail("only \\\" and \\\\ are known escapes");
      }
      text += rest_[at];
    }
    if (at == rest_.size()) fail("a text lacks its closing quote");
    skip(at + 1);
    return text;
  }

  const fs::path& file_;
  std::size_t number_;
  std::string rest_;
};

// Options name files that are written: another user's file, in /tmp for example, is not for this
// one, unless the current folder is that user's as well.
bool is_trusted(const fs::path& file, uid_t owner_here) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return false;
  return status.st_uid == ::geteuid() || status.st_uid == 0 || status.st_uid == owner_here;
}

// A file or folder that the option names counts from the folder of the configuration.
std::string from_folder(const OptionRow& row, const std::string& value, const fs::path& folder) {
  const bool has_format = row.value == "FORMAT[=FILE]" && value.find('=') != std::string::npos;
  const bool is_path = row.value == "FILE" || row.value == "DIR" || has_format;
  const std::size_t begin = has_format ? value.find('=') + 1 : 0;
  const fs::path path = value.substr(begin);
  if (!is_path || path.empty() || path.is_absolute()) return value;
  return value.substr(0, begin) + (folder / path).lexically_normal().string();
}

const OptionRow* row_of(const std::string& name) {
  for (const OptionRow& row : option_rows())
    if (row.name == name) return &row;
  return nullptr;
}

void add_option(const ConfigLine& line, const std::string& name, const std::string& value,
                const fs::path& folder, std::vector<std::string>& words) {
  const OptionRow* row = row_of(name);
  if (!row || name == "help")
    line.fail("'" + name + "' is no option; see 'gpumemtrace help options'");
  const bool is_word = value == "true" || value == "false";
  if (row->value.empty() && !row->is_switch) { // it is there or not
    if (!is_word) line.fail("'" + name + "' is true or false");
    if (value == "true") words.push_back("--" + name);
    return;
  }
  if (is_word && row->is_switch) words.push_back("--" + name + (value == "true" ? "=1" : "=0"));
  else words.push_back("--" + name + "=" + from_folder(*row, value, folder));
}

} // namespace

fs::path config_file() {
  struct stat here = {};
  if (::stat(".", &here) != 0) return {};
  std::error_code error;
  for (fs::path folder = fs::current_path(error); !error && !folder.empty();
       folder = folder.parent_path()) {
    std::error_code missing;
    const fs::path file = folder / kConfigName;
    if (fs::is_regular_file(file, missing) && is_trusted(file, here.st_uid)) return file;
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::vector<std::string> config_words(const fs::path& file, CommandId command) {
  const Descriptor opened = open_regular(file);
  if (!opened) throw UserError("cannot read '" + file.string() + "'", ExitStatus::kUsage);
  std::vector<std::string> words;
  std::size_t number = 0;
  bool is_meant = true;
  for_each_line_of(opened, [&](std::string_view text) {
    ConfigLine line(file, ++number, text);
    if (line.is_empty()) return true;
    if (const std::optional<std::string> section = line.section()) {
      is_meant = find_command(*section)->id == command;
      return true;
    }
    const std::string name = line.name();
    std::vector<std::string> option;
    for (const std::string& value : line.values())
      add_option(line, name, value, file.parent_path(), option);
    if (is_meant) std::ranges::move(option, std::back_inserter(words));
    return true;
  });
  return words;
}

std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  bool is_open = false; // a word has begun
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (quote == '\0' && is_blank) {
      is_open = false;
      continue;
    }
    if (!is_open) words.emplace_back();
    is_open = true;
    if (quote != '\0' && c == quote) quote = '\0';
    else if (quote == '\0' && (c == '"' || c == '\'')) quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size()) words.back() += line[++i];
    else words.back() += c;
  }
  if (quote != '\0')
    throw UserError(std::string(kVariable) + " lacks a closing quote: " + line, ExitStatus::kUsage);
  return words;
}

std::vector<std::string> preset_options(CommandId command) {
  if (!takes_presets(command)) return {};
  std::vector<std::string> options;
  if (const fs::path file = config_file(); !file.empty())
    options = options_in(command, config_words(file, command), file.string());
  if (const char* variable = std::getenv(kVariable); variable != nullptr && *variable != '\0')
    std::ranges::move(options_in(command, shell_words(variable), kVariable),
                      std::back_inserter(options));
  return options;
}

} // namespace gmt
