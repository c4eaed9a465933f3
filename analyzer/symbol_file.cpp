// SPDX-License-Identifier: Apache-2.0
// Reads and writes the `symbols` file, see symbol_file.h. Written to a name of its own and renamed, so that
// two reports at once, or one that is killed, never leave half a file.
#include "analyzer/symbol_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string_view>

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestFile = 512u << 20;
constexpr std::size_t kMostInlined = 256;
constexpr std::size_t kFields = 8; // later versions may append more

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\r': out += "\\r"; break;
    case '\t': out += "\\t"; break;
    default: out += c;
    }
  }
  return out;
}

std::string unescape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
    case 'n': out += '\n'; break;
    case 'r': out += '\r'; break;
    case 't': out += '\t'; break;
    default: out += text[i];
    }
  }
  return out;
}

template <typename Number> bool parse(std::string_view text, Number& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return {digits.data(), end};
}

// False if the line is no frame.
bool parse_line(std::string_view line, std::uint64_t& loaded, Frame& frame) {
  std::array<std::string_view, kFields> field;
  for (std::size_t i = 0; i < kFields; ++i) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos && i + 1 < kFields) return false;
    field[i] = line.substr(0, tab);
    line = tab == std::string_view::npos ? std::string_view{} : line.substr(tab + 1);
  }
  unsigned inlined = 0;
  const bool sound = parse(field[0], frame.address, 16) && parse(field[1], loaded, 16) &&
                     parse(field[2], inlined, 10) && parse(field[3], frame.line, 10) &&
                     parse(field[7], frame.module_offset, 16);
  frame.inlined = inlined != 0;
  frame.function = unescape(field[4]);
  frame.file = unescape(field[5]);
  frame.module = unescape(field[6]);
  return sound;
}

std::string failure(const char* what, const fs::path& path, int error) {
  return std::string("The symbols could not be ") + what + " " + path.string() + " (" + std::strerror(error) +
         "): this trace needs the program's binaries to be read.";
}

} // namespace

SymbolFile SymbolFile::read(const fs::path& trace) {
  SymbolFile result;
  const fs::path path = trace / "symbols";
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargestFile) return result;
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    Frame frame;
    std::uint64_t loaded = 0;
    if (!parse_line(line, loaded, frame)) continue;
    std::vector<Frame>& frames = result.frames_[{frame.address, loaded}];
    if (frames.size() < kMostInlined) frames.push_back(std::move(frame));
  }
  return result;
}

const std::vector<Frame>* SymbolFile::find(std::uint64_t address, std::uint64_t loaded) const {
  const auto at = frames_.find({address, loaded});
  return at == frames_.end() ? nullptr : &at->second;
}

void SymbolFile::set(std::uint64_t address, std::uint64_t loaded, std::vector<Frame> frames) {
  frames_[{address, loaded}] = std::move(frames);
}

std::optional<std::string> SymbolFile::write(const fs::path& trace) const {
  const fs::path path = trace / "symbols";
  const fs::path unfinished = trace / ("symbols." + std::to_string(::getpid()) + ".tmp");
  errno = 0;
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  for (const auto& [key, frames] : frames_) {
    for (const Frame& f : frames) {
      out << hex(key.first) << '\t' << hex(key.second) << '\t' << (f.inlined ? 1 : 0) << '\t' << f.line
          << '\t' << escape(f.function) << '\t' << escape(f.file) << '\t' << escape(f.module) << '\t'
          << hex(f.module_offset) << '\n';
    }
  }
  out.close();
  std::error_code error;
  if (!out) {
    const std::string why = failure("written to", path, errno);
    fs::remove(unfinished, error);
    return why;
  }
  fs::rename(unfinished, path, error);
  if (!error) return std::nullopt;
  const std::string why = failure("renamed to", path, error.value());
  fs::remove(unfinished, error);
  return why;
}

} // namespace gmt
