// SPDX-License-Identifier: Apache-2.0
// The walk is ptx/fatbin's; what is added are the bounds: a time, and the size of what is unpacked.

#include "analyzer/device_code/fatbin.h"

#include "analyzer/base/byte_reader.h"
#include "ptx/fatbin/section.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMaxPlain = std::uint64_t{256} << 20;

FatbinEntry described(const ptx::FatbinEntry& entry, std::size_t container) {
  FatbinEntry result;
  if (entry.is_ptx()) result.kind = FatbinEntry::Kind::kPtx;
  else if (entry.is_cubin()) result.kind = FatbinEntry::Kind::kCubin;
  result.packing = ptx::packing_of(entry.header);
  const bool packed = result.packing != FatbinEntry::Packing::kPlain;
  result.architecture = entry.header.architecture;
  result.container = container;
  result.bytes = {entry.code, ptx::packed_bytes(entry)};
  result.plain_bytes = packed ? entry.header.plain_bytes : entry.bytes;
  return result;
}

void append_section(const ElfImage& image, std::string_view name, CodeSections& sections) {
  const ElfImage::Section* section = image.find(name);
  if (section != nullptr && !section->data.empty()) sections.push_back(section->data);
}

} // namespace

bool is_fatbin(std::span<const char> bytes) {
  std::uint32_t magic = 0;
  return read_at(bytes, 0, magic) && magic == ptx::kFatbinMagic;
}

CodeSections device_code_of(const ElfImage& image) {
  CodeSections sections;
  append_section(image, ptx::kFatbinCodeSection, sections);
  const std::span<const char> linked = sections.empty() ? std::span<const char>() : sections[0];
  if (ptx::parts_are_linked_late(linked.data(), linked.size()))
    append_section(image, ptx::kFatbinPartsSection, sections);
  return sections;
}

CodeSections device_texts_of(const ElfImage& image) {
  CodeSections sections;
  append_section(image, ptx::kFatbinCodeSection, sections);
  append_section(image, ptx::kFatbinPartsSection, sections);
  return sections;
}

void visit_entries(const CodeSections& sections, Deadline deadline,
                   const std::function<bool(const FatbinEntry&)>& visit) {
  std::size_t number = 0;
  for (const std::span<const char> bytes : sections) {
    ptx::FatbinSection section(bytes.data(), bytes.size());
    for (ptx::FatbinReader container; section.next(container); ++number) {
      for (ptx::FatbinEntry entry; container.next(entry);) {
        if (std::chrono::steady_clock::now() > deadline) return;
        if (!visit(described(entry, number))) return;
      }
    }
  }
}

std::span<const char> unpack(const FatbinEntry& entry, std::vector<char>& buffer) {
  if (entry.packing == FatbinEntry::Packing::kPlain) return entry.bytes;
  if (entry.plain_bytes == 0 || entry.plain_bytes > kMaxPlain) return {};
  buffer.resize(static_cast<std::size_t>(entry.plain_bytes));
  std::size_t bytes = 0;
  if (!ptx::unpack_code(entry.packing, entry.bytes.data(), entry.bytes.size(), buffer.data(),
                        buffer.size(), &bytes))
    return {};
  return std::span<const char>(buffer).first(bytes);
}

} // namespace gmt
