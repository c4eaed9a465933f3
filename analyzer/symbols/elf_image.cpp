// SPDX-License-Identifier: Apache-2.0
// Reads ELF's headers, see elf_image.h.
#include "analyzer/symbols/elf_image.h"

#include <algorithm>
#include <cstring>

#include "analyzer/base/byte_reader.h"

namespace gmt {

std::optional<Elf64_Ehdr> elf_header_of(std::span<const char> bytes) {
  Elf64_Ehdr header;
  if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return std::nullopt;
  return header;
}

SectionHeaders::SectionHeaders(std::span<const char> bytes, const Elf64_Ehdr& header)
    : bytes_(bytes), offset_(header.e_shoff) {
  Elf64_Shdr first;
  if (offset_ == 0 || header.e_shentsize != sizeof first || !read_at(bytes, offset_, first)) return;
  // What does not fit into the header's 16 bits stands in the first section.
  count_ = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  names_ = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  there_ = std::min<std::uint64_t>(count_, (bytes.size() - offset_) / sizeof first);
}

Elf64_Shdr SectionHeaders::operator[](std::uint64_t i) const {
  Elf64_Shdr section{};
  if (i < there_) read_at(bytes_, offset_ + i * sizeof section, section);
  return section;
}

std::optional<ElfImage> ElfImage::open(std::span<const char> bytes) {
  const std::optional<Elf64_Ehdr> header = elf_header_of(bytes);
  if (!header) return std::nullopt;
  ElfImage image;
  image.bytes_ = bytes;
  image.header_ = *header;
  image.read_sections();
  return image;
}

void ElfImage::read_sections() {
  const SectionHeaders headers(bytes_, header_);
  if (headers.there() < headers.count() || headers.names() >= headers.count()) return;
  const Elf64_Shdr strings = headers[headers.names()];
  const std::span<const char> text = part_of(bytes_, strings.sh_offset, strings.sh_size);
  sections_.reserve(headers.count());
  for (std::uint64_t i = 0; i < headers.count(); ++i) {
    const Elf64_Shdr section = headers[i];
    sections_.push_back({text_at(text, section.sh_name),
                         section.sh_type,
                         section.sh_link,
                         section.sh_info,
                         {},
                         section.sh_addr,
                         section.sh_flags});
    if (section.sh_type != SHT_NOBITS) {
      sections_.back().data = part_of(bytes_, section.sh_offset, section.sh_size);
    }
  }
}

const ElfImage::Section* ElfImage::find(std::string_view name) const {
  const auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

std::vector<Elf64_Phdr> ElfImage::segments() const {
  std::vector<Elf64_Phdr> segments;
  Elf64_Phdr segment;
  while (segments.size() < header_.e_phnum && header_.e_phoff <= bytes_.size() &&
         read_at(bytes_, header_.e_phoff + segments.size() * sizeof segment, segment)) {
    segments.push_back(segment);
  }
  return segments;
}

std::span<const char> ElfImage::part(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > bytes_.size()) return {};
  return bytes_.subspan(offset, std::min<std::uint64_t>(bytes, bytes_.size() - offset));
}

std::string_view ElfImage::linked_text(const Section& section, std::uint64_t at) const {
  return section.link < sections_.size() ? text_at(sections_[section.link].data, at)
                                         : std::string_view();
}

} // namespace gmt
