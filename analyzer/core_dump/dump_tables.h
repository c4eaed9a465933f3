// SPDX-License-Identifier: Apache-2.0
// The tables of a GPU's core dump: an ELF file whose sections belong to rows of other sections. A
// section is found by its type, the section that holds its parent's row (sh_link) and the number of
// that row (sh_info). All of them are indexed once: a whole GPU has 800,000.
//
// Trusts nothing: what lies outside the bytes is not there. A row has the size that its section
// says: fields beyond it read as 0, and what is behind the known fields is passed over. Names and
// meanings are those of cudacoredump.h; the numbers of fields are byte offsets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/base/byte_reader.h"

namespace gmt {

enum class DumpTable : std::uint32_t { // SHT_LOUSER + the number
  kRegisters = 5,
  kRelocatedImage = 7,
  kBacktrace = 8,
  kDevices = 9,
  kContexts = 10,
  kProcessors = 11,
  kGrids = 12,
  kBlocks = 13,
  kWarps = 14,
  kLanes = 15,
  kModules = 16,
  kPredicates = 17,
  kParameters = 18,
  kUniformRegisters = 19,
  kMeta = 22,
};

class DumpRow {
public:
  explicit DumpRow(std::span<const char> bytes) : bytes_(bytes) {}
  template <class Integer> Integer at(std::uint64_t offset) const {
    Integer value{};
    read_at(bytes_, offset, value);
    return value;
  }
  std::uint32_t u32(std::uint64_t offset) const { return at<std::uint32_t>(offset); }
  std::uint64_t u64(std::uint64_t offset) const { return at<std::uint64_t>(offset); }

private:
  std::span<const char> bytes_;
};

class DumpTables {
public:
  static constexpr std::uint64_t kMostSections = 8'000'000;

  struct Section {
    std::uint32_t number = 0; // in the file
    std::uint32_t type = 0, link = 0, info = 0;
    std::uint64_t offset = 0, bytes = 0, row_bytes = 0;
  };

  // Nothing if the bytes are no core dump of a GPU. They must outlive what is returned.
  static std::optional<DumpTables> open(std::span<const char> bytes);

  const Section* first(DumpTable type) const; // null if there is none
  // The section that belongs to a row of another one; null if there is none.
  const Section* below(DumpTable type, const Section* table, std::uint64_t row) const;

  std::span<const char> data(const Section* section) const; // of null none
  std::uint64_t row_count(const Section* section) const;
  DumpRow row(const Section* section, std::uint64_t i) const;
  std::uint32_t word(const Section* section, std::uint64_t i) const; // of 4 bytes
  std::uint64_t word_count(const Section* section) const { return data(section).size() / 4; }
  std::string_view text(std::uint64_t at) const; // of the table of strings
  bool is_cut() const { return cut_; }           // sections lie beyond the end of the file

private:
  std::span<const char> bytes_, strings_;
  std::vector<Section> sections_; // by type, link and info
  bool cut_ = false;
};

} // namespace gmt
