// SPDX-License-Identifier: Apache-2.0
// Walks fat binaries and unpacks their entries, see fatbin.h.

#include "analyzer/device_code/fatbin.h"

#include <algorithm>

#include "analyzer/base/byte_reader.h"
#include "ptx/fatbin/reader.h"

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

} // namespace

bool is_fatbin(std::span<const char> bytes) {
  std::uint32_t magic = 0;
  return read_at(bytes, 0, magic) && magic == ptx::kFatbinMagic;
}

void visit_entries(std::span<const char> section, Deadline deadline,
                   const std::function<bool(const FatbinEntry&)>& visit) {
  ptx::FatbinContainer container{};
  std::size_t number = 0;
  for (std::size_t at = 0; read_at(section, at, container);) {
    if (container.magic != ptx::kFatbinMagic || container.header_bytes < sizeof container) {
      at += 8; // containers are aligned
      continue;
    }
    ptx::FatbinReader reader(section.data() + at, section.size() - at);
    for (ptx::FatbinEntry entry; reader.next(entry);) {
      if (std::chrono::steady_clock::now() > deadline) return;
      if (!visit(described(entry, number))) return;
    }
    ++number;
    at += std::max<std::size_t>(reader.end(), 8);
    at += (8 - at % 8) % 8;
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

std::span<const char> nv_fatbin_of(const ElfImage& image) {
  const ElfImage::Section* section = image.find(".nv_fatbin");
  return section != nullptr ? section->data : std::span<const char>();
}

} // namespace gmt
