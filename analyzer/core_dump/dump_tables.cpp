// SPDX-License-Identifier: Apache-2.0
// Indexes the sections of a GPU's core dump, see dump_tables.h.
#include "analyzer/core_dump/dump_tables.h"

#include <elf.h>

#include <algorithm>
#include <tuple>

#include "analyzer/symbols/elf_image.h"

namespace gmt {
namespace {

constexpr std::uint32_t kFirstType = 0x80000000; // SHT_LOUSER
constexpr unsigned char kCudaAbi = 0x33;         // EI_OSABI

std::uint32_t number_of(DumpTable type) { return kFirstType + static_cast<std::uint32_t>(type); }

auto key(const DumpTables::Section& s) { return std::tuple(s.type, s.link, s.info); }

} // namespace

std::optional<DumpTables> DumpTables::open(std::span<const char> bytes) {
  const std::optional<Elf64_Ehdr> header = elf_header_of(bytes);
  if (!header || header->e_ident[EI_OSABI] != kCudaAbi || header->e_machine != EM_CUDA ||
      header->e_type != ET_CORE)
    return std::nullopt;
  DumpTables tables;
  tables.bytes_ = bytes;
  const SectionHeaders headers(bytes, *header);
  const std::uint64_t count = std::min(headers.there(), kMostSections);
  tables.cut_ = !headers.any() || count < headers.count();
  tables.sections_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr s = headers[i];
    const bool has_bytes = s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL;
    const bool inside = s.sh_offset <= bytes.size() && s.sh_size <= bytes.size() - s.sh_offset;
    if (has_bytes && !inside) tables.cut_ = true;
    if (s.sh_type == SHT_STRTAB && tables.strings_.empty())
      tables.strings_ = part_of(bytes, s.sh_offset, s.sh_size);
    if (s.sh_type < kFirstType || !has_bytes || !inside) continue;
    tables.sections_.push_back({static_cast<std::uint32_t>(i), s.sh_type, s.sh_link, s.sh_info,
                                s.sh_offset, s.sh_size, s.sh_entsize});
  }
  std::ranges::stable_sort(tables.sections_, {}, key);
  return tables;
}

const DumpTables::Section* DumpTables::first(DumpTable type) const {
  const auto at = std::ranges::lower_bound(sections_, number_of(type), {}, &Section::type);
  return at != sections_.end() && at->type == number_of(type) ? &*at : nullptr;
}

const DumpTables::Section* DumpTables::below(DumpTable type, const Section* table,
                                             std::uint64_t row) const {
  if (table == nullptr || row > UINT32_MAX) return nullptr;
  const auto wanted = std::tuple(number_of(type), table->number, static_cast<std::uint32_t>(row));
  const auto at = std::ranges::lower_bound(sections_, wanted, {}, key);
  return at != sections_.end() && key(*at) == wanted ? &*at : nullptr;
}

std::span<const char> DumpTables::data(const Section* section) const {
  if (section == nullptr) return {};
  return part_of(bytes_, section->offset, section->bytes);
}

std::uint64_t DumpTables::row_count(const Section* section) const {
  if (section == nullptr || section->row_bytes == 0) return 0;
  return section->bytes / section->row_bytes;
}

DumpRow DumpTables::row(const Section* section, std::uint64_t i) const {
  if (i >= row_count(section)) return DumpRow({});
  return DumpRow(part_of(data(section), i * section->row_bytes, section->row_bytes));
}

std::uint32_t DumpTables::word(const Section* section, std::uint64_t i) const {
  std::uint32_t value = 0;
  if (i < word_count(section)) read_at(data(section), i * sizeof value, value);
  return value;
}

std::string_view DumpTables::text(std::uint64_t at) const { return text_at(strings_, at); }

} // namespace gmt
