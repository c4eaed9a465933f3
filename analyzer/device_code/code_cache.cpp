// SPDX-License-Identifier: Apache-2.0
// Reads and writes the `code` file, see code_cache.h.
#include "analyzer/device_code/code_cache.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_files.h"
#include "analyzer/base/text_lines.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kLargestCache = 64u << 20; // each byte of it takes some of memory
constexpr std::array<std::string_view, 6> kOpWords{"load",      "store", "atomic",
                                                   "reduction", "copy",  "bulk-copy"};
constexpr std::array<std::string_view, 5> kSpaceWords{"global", "shared", "local", "generic",
                                                      "constant"};

template <class Enum, std::size_t N>
bool read_word(const std::array<std::string_view, N>& words, std::string_view text, Enum& into) {
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) return false;
  into = static_cast<Enum>(found - words.begin());
  return true;
}

template <class Number> bool read_number(std::string_view text, Number& into, int base = 10) {
  const std::optional<Number> value = parse_number<Number>(text, base);
  if (value) into = *value;
  return value.has_value();
}

// Takes the lines one after the other; a function is whole when the next one begins.
class CodeFileReader {
public:
  explicit CodeFileReader(CodeFile& into) : into_(into) {}

  // False if the line makes no sense.
  bool take(std::string_view line) {
    const std::vector<std::string_view> fields = split_tabs(line);
    if (fields[0] == "function") return begin(fields);
    if (fields[0] != "access" && fields[0] != "place") return true; // of a later version
    const bool sound = open_ && (fields[0] == "access" ? access(fields) : source_line(fields));
    if (!sound) open_ = false; // rather no function than one with holes
    return sound;
  }

  void finish() {
    if (open_) into_.add(std::move(code_));
    open_ = false;
  }

private:
  bool begin(const std::vector<std::string_view>& fields) {
    finish();
    code_ = {};
    if (fields.size() < 4 || (fields[1] != "0" && fields[1] != "1") || fields[2].empty())
      return false;
    code_.has_lines = fields[1] == "1";
    code_.name = unescape(fields[2]);
    code_.module = unescape(fields[3]);
    return open_ = true;
  }

  bool access(const std::vector<std::string_view>& fields) {
    Instruction read;
    const bool sound =
      fields.size() >= 7 && read_number(fields[1], read.offset, 16) &&
      read_word(kOpWords, fields[2], read.op) && read_word(kSpaceWords, fields[3], read.space) &&
      read_number(fields[4], read.bytes) && read_number(fields[5], read.address_register) &&
      read_number(fields[6], read.address_offset);
    std::vector<Instruction>& all = code_.instructions;
    if (!sound || (!all.empty() && all.back().offset >= read.offset)) return false;
    all.push_back(std::move(read));
    return true;
  }

  bool source_line(const std::vector<std::string_view>& fields) {
    SourceLine read;
    if (fields.size() < 4 || code_.instructions.empty() || !read_number(fields[1], read.line))
      return false;
    read.function = unescape(fields[2]);
    read.file = unescape(fields[3]);
    std::vector<SourceLine>& lines = code_.instructions.back().lines;
    if (lines.size() == kMostInlined) return false;
    lines.push_back(std::move(read));
    return true;
  }

  CodeFile& into_;
  FunctionCode code_;
  bool open_ = false;
};

void write_function(std::ostream& out, const FunctionCode& code) {
  out << "function\t" << (code.has_lines ? 1 : 0) << '\t' << escape(code.name) << '\t'
      << escape(code.module) << '\n';
  for (const Instruction& i : code.instructions) {
    out << "access\t" << hex(i.offset) << '\t' << kOpWords[static_cast<std::size_t>(i.op)] << '\t'
        << kSpaceWords[static_cast<std::size_t>(i.space)] << '\t' << i.bytes << '\t'
        << i.address_register << '\t' << i.address_offset << '\n';
    for (const SourceLine& line : i.lines)
      out << "place\t" << line.line << '\t' << escape(line.function) << '\t' << escape(line.file)
          << '\n';
  }
}

} // namespace

CodeFile CodeFile::read(const fs::path& trace) {
  CodeFile result;
  const Descriptor file = open_in_folder(trace / "code");
  if (bytes_of(file) > kLargestCache) return result;
  CodeFileReader reader(result);
  for_each_line_of(file, [&](std::string_view line) {
    if (!reader.take(line)) ++result.damaged_lines_;
    return true;
  });
  reader.finish();
  return result;
}

const FunctionCode* CodeFile::find(std::string_view name,
                                   std::span<const std::uint32_t> offsets) const {
  const auto [first, last] = by_name_.equal_range(name);
  const auto found = std::find_if(first, last, [offsets](const auto& entry) {
    const std::vector<Instruction>& all = entry.second->instructions;
    return std::ranges::all_of(offsets, [&all](std::uint32_t offset) {
      return std::ranges::binary_search(all, offset, {}, &Instruction::offset);
    });
  });
  return found == last ? nullptr : found->second;
}

void CodeFile::add(FunctionCode code) {
  const FunctionCode& added = functions_.emplace_back(std::move(code));
  by_name_.emplace(added.name, &added);
}

std::optional<std::string> CodeFile::write(const fs::path& trace) const {
  const fs::path path = trace / "code";
  const WriteFailure failure = replace_file(path, Into::kOwnTrace, [this](std::ostream& out) {
    for (const FunctionCode& code : functions_) write_function(out, code);
  });
  if (!failure) return std::nullopt;
  return std::string("The code of the measured kernels could not be ") + failure.what + " " +
         path.string() + " (" + failure.why +
         "): this trace needs the program's binaries to name their lines.";
}

} // namespace gmt
