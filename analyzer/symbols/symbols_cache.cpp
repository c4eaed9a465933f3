// SPDX-License-Identifier: Apache-2.0
// Reads and writes the `symbols` file, see symbols_cache.h.
#include "analyzer/symbols/symbols_cache.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_lines.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestFile = 512u << 20;
constexpr std::size_t kMostKeptBytes = 200u << 20, kOfFrame = 300; // bytes
constexpr std::size_t kMostFrames = 256;
constexpr std::size_t kFields = 8; // later versions may append more

// Nothing if a range makes no sense: without it, the frames above cannot be distinguished from the
// function's own.
std::shared_ptr<const Callee> parse_callee(std::string_view function, std::string_view ranges) {
  Callee callee;
  callee.function = unescape(function);
  while (!ranges.empty()) {
    const std::size_t dash = ranges.find('-'), comma = std::min(ranges.find(','), ranges.size());
    if (dash >= comma) return nullptr;
    const auto begin = parse_number<std::uint64_t>(ranges.substr(0, dash), 16);
    const auto end = parse_number<std::uint64_t>(ranges.substr(dash + 1, comma - dash - 1), 16);
    if (!begin || !end || *begin >= *end) return nullptr;
    callee.code.push_back({*begin, *end});
    ranges.remove_prefix(std::min(comma + 1, ranges.size()));
  }
  return callee.code.empty() ? nullptr : std::make_shared<const Callee>(std::move(callee));
}

void write_callee(std::ostream& out, const Callee& callee) {
  out << '\t' << escape(callee.function) << '\t';
  for (std::size_t i = 0; i < callee.code.size(); ++i) {
    out << (i == 0 ? "" : ",") << hex(callee.code[i].begin) << '-' << hex(callee.code[i].end);
  }
}

// False if the line is no frame.
bool parse_line(std::string_view line, std::uint64_t& loaded, Frame& frame) {
  const std::vector<std::string_view> field = split_tabs(line);
  if (field.size() < kFields) return false;
  unsigned inlined = 0;
  const auto number = [](std::string_view text, auto& value, int base) {
    const auto read = parse_number<std::remove_reference_t<decltype(value)>>(text, base);
    if (read) value = *read;
    return read.has_value();
  };
  const bool sound = number(field[0], frame.address, 16) && number(field[1], loaded, 16) &&
                     number(field[2], inlined, 10) && number(field[3], frame.line, 10) &&
                     number(field[7], frame.module_offset, 16);
  frame.inlined = inlined != 0;
  frame.function = unescape(field[4]);
  frame.file = unescape(field[5]);
  frame.module = unescape(field[6]);
  if (field.size() > kFields + 1) frame.callee = parse_callee(field[kFields], field[kFields + 1]);
  return sound;
}

} // namespace

SymbolFile SymbolFile::read(const fs::path& trace) {
  SymbolFile result;
  const Descriptor file = open_in_folder(trace / "symbols");
  if (bytes_of(file) > kLargestFile) return result;
  std::size_t kept = 0; // bytes
  for_each_line_of(file, [&](std::string_view line) {
    Frame frame;
    std::uint64_t loaded = 0;
    if (!parse_line(line, loaded, frame)) return true;
    std::vector<Frame>& frames = result.frames_[{frame.address, loaded}];
    if (frames.size() < kMostFrames) frames.push_back(std::move(frame));
    kept += line.size() + kOfFrame;
    return kept < kMostKeptBytes; // what is behind is resolved anew, where that can be done
  });
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
  const WriteFailure failure = replace_file(path, Into::kOwnTrace, [this](std::ostream& out) {
    for (const auto& [key, frames] : frames_) {
      for (const Frame& f : frames) {
        out << hex(key.first) << '\t' << hex(key.second) << '\t' << (f.inlined ? 1 : 0) << '\t'
            << f.line << '\t' << escape(f.function) << '\t' << escape(f.file) << '\t'
            << escape(f.module) << '\t' << hex(f.module_offset);
        if (f.callee) write_callee(out, *f.callee);
        out << '\n';
      }
    }
  });
  if (!failure) return std::nullopt;
  return std::string("The symbols could not be ") + failure.what + " " + path.string() + " (" +
         failure.why + "): this trace needs the program's binaries to be read.";
}

} // namespace gmt
