// SPDX-License-Identifier: Apache-2.0
// Reads ELF's headers, see elf_image.h.
#include "analyzer/symbols/elf_image.h"

#include <algorithm>
#include <cstring>

#include "analyzer/base/byte_reader.h"

namespace gmt {

std::optional<ElfImage> ElfImage::open(std::span<const char> bytes) {
  ElfImage image;
  image.bytes_ = bytes;
  const Elf64_Ehdr& header = image.header_;
  if (!read_at(bytes, 0, image.header_) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  image.read_sections();
  return image;
}

void ElfImage::read_sections() {
  Elf64_Shdr first;
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof first ||
      !read_at(bytes_, header_.e_shoff, first)) {
    return;
  }
  // What does not fit into the header's 16 bits stands in the first section.
  const std::uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first.sh_size;
  const std::uint64_t names = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first.sh_link;
  if (count > (bytes_.size() - header_.e_shoff) / sizeof first || names >= count) return;
  const auto header_of = [this](std::uint64_t i) {
    Elf64_Shdr section{};
    read_at(bytes_, header_.e_shoff + i * sizeof section, section);
    return section;
  };
  const Elf64_Shdr strings = header_of(names);
  const std::span<const char> text = part_of(bytes_, strings.sh_offset, strings.sh_size);
  sections_.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Elf64_Shdr section = header_of(i);
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
