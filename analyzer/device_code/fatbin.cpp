// SPDX-License-Identifier: Apache-2.0
// Walks fat binaries and unpacks their entries, see fatbin.h.

#include "analyzer/device_code/fatbin.h"

#include <algorithm>
#include <climits>

#include <lz4.h>
#include <zstd.h>

#include "analyzer/base/byte_reader.h"
#include "ptx/fatbin/fatbin.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMaxPlain = std::uint64_t{256} << 20;
static_assert(kMaxPlain <= INT_MAX, "LZ4 counts in int");
using Entry = ptx::FatbinEntryHeader;

FatbinEntry described(const Entry& entry, std::span<const char> code, std::size_t container) {
  FatbinEntry result;
  if (entry.kind == ptx::kFatbinPtx) result.kind = FatbinEntry::Kind::kPtx;
  else if (entry.kind == ptx::kFatbinCubin) result.kind = FatbinEntry::Kind::kCubin;
  if ((entry.flags & ptx::kFatbinZstd) != 0) result.packing = FatbinEntry::Packing::kZstd;
  else if ((entry.flags & ptx::kFatbinLz4) != 0) result.packing = FatbinEntry::Packing::kLz4;
  const bool packed = result.packing != FatbinEntry::Packing::kPlain;
  result.architecture = entry.architecture;
  result.container = container;
  result.bytes =
    packed ? code.first(std::min<std::size_t>(code.size(), entry.compressed_bytes)) : code;
  result.plain_bytes = packed ? entry.plain_bytes : code.size();
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
    std::size_t entry_at = at + container.header_bytes;
    const std::size_t end = std::min<std::size_t>(
      section.size(), entry_at + std::min<std::uint64_t>(container.bytes, section.size()));
    Entry entry{};
    while (entry_at < end && read_at(section, entry_at, entry)) {
      if (std::chrono::steady_clock::now() > deadline) return;
      if (entry.header_bytes < sizeof entry || entry.header_bytes > end - entry_at) break;
      const std::size_t code_at = entry_at + entry.header_bytes;
      const std::size_t bytes = std::min<std::uint64_t>(entry.bytes, end - code_at);
      if (!visit(described(entry, section.subspan(code_at, bytes), number))) return;
      entry_at = code_at + bytes;
    }
    ++number;
    at = std::max(end, at + 8);
    at += (8 - at % 8) % 8;
  }
}

std::span<const char> unpack(const FatbinEntry& entry, std::vector<char>& buffer) {
  if (entry.packing == FatbinEntry::Packing::kPlain) return entry.bytes;
  if (entry.plain_bytes == 0 || entry.plain_bytes > kMaxPlain) return {};
  buffer.resize(static_cast<std::size_t>(entry.plain_bytes));
  if (entry.packing == FatbinEntry::Packing::kLz4) {
    if (entry.bytes.size() > INT_MAX) return {};
    const int bytes =
      LZ4_decompress_safe(entry.bytes.data(), buffer.data(), static_cast<int>(entry.bytes.size()),
                          static_cast<int>(buffer.size()));
    if (bytes < 0 || static_cast<std::size_t>(bytes) != buffer.size()) return {};
    return buffer;
  }
  const std::size_t bytes =
    ZSTD_decompress(buffer.data(), buffer.size(), entry.bytes.data(), entry.bytes.size());
  if (ZSTD_isError(bytes) != 0) return {};
  return std::span<const char>(buffer).first(bytes);
}

std::span<const char> nv_fatbin_of(const ElfImage& image) {
  const ElfImage::Section* section = image.find(".nv_fatbin");
  return section != nullptr ? section->data : std::span<const char>();
}

} // namespace gmt
