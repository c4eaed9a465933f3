// SPDX-License-Identifier: Apache-2.0
// The line table of a cubin (.debug_line): from offsets in a function's section to the lines of
// CUDA source, through the functions that were inlined there.
//
// DWARF version 2 to 4, plus NVIDIA's extended opcode 0x90: two numbers for the rows that follow,
// the row of the call (counted from 1 in its sequence, 0 for none) and the callee's name as an
// offset in .debug_str. Learnt from nvcc 13; without it no function counts as inlined.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/instruction.h"

namespace gmt {

// Where a relocated address of the table points.
struct CodeAddress {
  std::size_t section = 0;
  std::uint64_t offset = 0;
};

class CubinLines {
public:
  CubinLines() = default;
  // Relocations by their offset in .debug_line. Sequences of other sections are passed over.
  CubinLines(std::span<const char> debug_line, std::span<const char> debug_str,
             const std::map<std::uint64_t, CodeAddress>& relocations, std::size_t section);

  bool empty() const { return sequences_.empty(); }

  // Innermost inlined function first; the last one is in `function`. Empty if no row covers the
  // offset.
  std::vector<SourceLine> lines(std::uint64_t offset, std::string_view function) const;

private:
  struct Row {
    std::uint64_t offset = 0;
    std::uint64_t file = 1;
    std::uint32_t line = 1;
    std::uint64_t caller = 0; // number of a row before this one
    std::uint64_t callee = 0; // in .debug_str
  };
  struct Sequence {
    std::size_t unit = 0;
    std::vector<Row> rows;
    std::uint64_t end = 0;
  };
  using Relocations = std::map<std::uint64_t, CodeAddress>;
  struct Header;

  static Header read_header(ByteReader& unit);
  void run(ByteReader& program, const Header& header, const Relocations& relocations,
           std::size_t section);

  std::span<const char> names_;
  std::vector<std::vector<std::string>> files_; // paths by unit, number 1 first
  std::vector<Sequence> sequences_;             // of the section
};

} // namespace gmt
