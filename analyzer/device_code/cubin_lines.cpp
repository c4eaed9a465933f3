// SPDX-License-Identifier: Apache-2.0
// Runs the line number programs of a cubin, see cubin_lines.h. A damaged table ends where it is
// damaged: the sequences before that point count.
#include "analyzer/device_code/cubin_lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

namespace gmt {
namespace {

constexpr std::uint8_t kEndSequence = 1, kSetAddress = 2, kInlinedCall = 0x90; // extended opcodes
enum Standard : std::uint8_t {
  kCopyRow = 1,
  kAdvanceAddress,
  kAdvanceLine,
  kSetFile,
  kSetColumn,
  kNegateStatement,
  kBasicBlock,
  kConstantAddress,
  kFixedAddress,
};

std::string path_of(std::string_view directory, std::string_view file) {
  return (std::filesystem::path(directory) / file).lexically_normal().string();
}

} // namespace

struct CubinLines::Header {
  std::uint8_t minimum_length = 1, line_range = 0, opcode_base = 0;
  std::int8_t line_base = 0;
  std::array<std::uint8_t, 256> operands{}; // of standard opcodes
  std::vector<std::string> files;
  bool usable = false;
};

// Leaves the reader at the first instruction.
CubinLines::Header CubinLines::read_header(ByteReader& unit) {
  Header header;
  const auto version = unit.read<std::uint16_t>();
  if (version < 2 || version > 4) return header;
  const auto header_bytes = unit.read<std::uint32_t>();
  ByteReader reader = unit.part(header_bytes);
  header.minimum_length = reader.read<std::uint8_t>();
  if (version == 4) reader.read<std::uint8_t>(); // operations of one instruction
  reader.read<std::uint8_t>();                   // whether rows are statements at first
  header.line_base = reader.read<std::int8_t>();
  header.line_range = reader.read<std::uint8_t>();
  header.opcode_base = reader.read<std::uint8_t>();
  for (unsigned opcode = 1; opcode < header.opcode_base; ++opcode)
    header.operands[opcode] = reader.read<std::uint8_t>();
  std::vector<std::string_view> directories{""};
  for (std::string_view name = reader.text(); !name.empty(); name = reader.text())
    directories.push_back(name);
  for (std::string_view name = reader.text(); !name.empty(); name = reader.text()) {
    const std::uint64_t directory = reader.unsigned_leb();
    reader.unsigned_leb(); // time
    reader.unsigned_leb(); // size
    header.files.push_back(
      path_of(directory < directories.size() ? directories[directory] : "", name));
  }
  header.usable = reader.ok() && unit.ok() && header.line_range != 0;
  return header;
}

CubinLines::CubinLines(std::span<const char> debug_line, std::span<const char> debug_str,
                       const Relocations& relocations, std::size_t section)
    : names_(debug_str) {
  ByteReader reader(debug_line);
  while (!reader.at_end()) {
    // 64-bit DWARF is not written by nvcc
    ByteReader unit = reader.part(reader.read<std::uint32_t>());
    Header header = read_header(unit);
    if (!header.usable) continue;
    run(unit, header, relocations, section);
    files_.push_back(std::move(header.files));
  }
}

void CubinLines::run(ByteReader& program, const Header& header, const Relocations& relocations,
                     std::size_t section) {
  Sequence sequence{files_.size(), {}, 0};
  Row row;
  bool wanted = false;
  const auto advance = [&](std::uint64_t by) { row.offset += by * header.minimum_length; };
  const auto add_row = [&] {
    if (wanted) sequence.rows.push_back(row);
  };
  const auto extended = [&](ByteReader operation) {
    switch (operation.read<std::uint8_t>()) {
    case kEndSequence:
      sequence.end = row.offset;
      if (!sequence.rows.empty()) sequences_.push_back(sequence);
      sequence.rows.clear();
      row = {};
      wanted = false;
      break;
    case kSetAddress: {
      const auto at = relocations.find(operation.position());
      wanted = at != relocations.end() && at->second.section == section;
      row.offset = wanted ? at->second.offset : 0;
      break;
    }
    case kInlinedCall:
      row.caller = operation.unsigned_leb();
      row.callee = operation.unsigned_leb();
      break;
    default: break;
    }
  };
  while (!program.at_end()) {
    const auto opcode = program.read<std::uint8_t>();
    if (opcode >= header.opcode_base) {
      const unsigned special = opcode - header.opcode_base;
      advance(special / header.line_range);
      const int lines = header.line_base + static_cast<int>(special % header.line_range);
      row.line += static_cast<std::uint32_t>(lines);
      add_row();
      continue;
    }
    switch (opcode) {
    case 0: extended(program.part(program.unsigned_leb())); break;
    case kCopyRow: add_row(); break;
    case kAdvanceAddress: advance(program.unsigned_leb()); break;
    case kAdvanceLine: row.line += static_cast<std::uint32_t>(program.signed_leb()); break;
    case kSetFile: row.file = program.unsigned_leb(); break;
    case kConstantAddress: advance((255u - header.opcode_base) / header.line_range); break;
    case kFixedAddress: row.offset += program.read<std::uint16_t>(); break;
    default:
      for (unsigned n = header.operands[opcode]; n > 0; --n) program.unsigned_leb();
    }
  }
}

std::vector<SourceLine> CubinLines::lines(std::uint64_t offset, std::string_view function) const {
  std::vector<SourceLine> result;
  for (const Sequence& sequence : sequences_) {
    if (offset < sequence.rows.front().offset || offset >= sequence.end) continue;
    const std::vector<std::string>& files = files_[sequence.unit];
    // Rows rise by offset; of several with one offset the last holds.
    const auto behind = std::ranges::upper_bound(sequence.rows, offset, {}, &Row::offset);
    auto number = static_cast<std::uint64_t>(behind - sequence.rows.begin());
    while (number != 0 && result.size() < kMostInlined) {
      const Row& row = sequence.rows[static_cast<std::size_t>(number - 1)];
      SourceLine& line = result.emplace_back();
      if (row.file - 1 < files.size()) line.file = files[static_cast<std::size_t>(row.file - 1)];
      line.line = row.line;
      // Upwards only, so that this ends
      const bool inlined = row.caller != 0 && row.caller < number;
      if (inlined && row.callee < names_.size()) {
        ByteReader name(names_.subspan(static_cast<std::size_t>(row.callee)));
        line.function = name.text();
      } else if (!inlined) {
        line.function = function;
      }
      number = inlined ? row.caller : 0;
    }
    break;
  }
  return result;
}

} // namespace gmt
