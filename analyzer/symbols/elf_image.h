// SPDX-License-Identifier: Apache-2.0
// An ELF file in memory: a program, a library or a cubin. Its header, sections, segments and texts.
// 64 bits and little-endian alone. Trusts nothing: what lies outside the bytes is not there. Looks
// at the headers of sections, not at what is in them. libelf would take three times the file's size
// for a damaged one that is nothing but sections.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gmt {

// The file's header. Nothing if this is no ELF file, or of another class or byte order.
std::optional<Elf64_Ehdr> elf_header_of(std::span<const char> bytes);

// The headers of a file's sections. Of a file that was cut not all are there.
class SectionHeaders {
public:
  SectionHeaders(std::span<const char> bytes, const Elf64_Ehdr& header);

  bool any() const { return there_ != 0; }
  std::uint64_t count() const { return count_; } // as the file says
  std::uint64_t there() const { return there_; } // how many the file has room for
  std::uint64_t names() const { return names_; } // the section that holds their names
  Elf64_Shdr operator[](std::uint64_t i) const;

private:
  std::span<const char> bytes_;
  std::uint64_t offset_ = 0, count_ = 0, there_ = 0, names_ = 0;
};

class ElfImage {
public:
  struct Section {
    std::string_view name;
    std::uint32_t type = 0, link = 0, info = 0; // as in Elf64_Shdr
    std::span<const char> data;                 // empty for SHT_NOBITS
    std::uint64_t address = 0;                  // sh_addr
    std::uint64_t flags = 0;                    // sh_flags
  };

  // Nothing if this is no ELF file, or of another class or byte order. A file whose table of
  // sections is damaged has none. The bytes must outlive what is returned.
  static std::optional<ElfImage> open(std::span<const char> bytes);

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section* find(std::string_view name) const; // the first of that name, or null
  std::vector<Elf64_Phdr> segments() const;

  // Up to so many bytes of the file from there on.
  std::span<const char> part(std::uint64_t offset, std::uint64_t bytes) const;
  // The name at an offset of the table of strings that belongs to the section. Empty if there is
  // none.
  std::string_view linked_text(const Section& section, std::uint64_t at) const;

private:
  void read_sections();

  std::span<const char> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
};

} // namespace gmt
