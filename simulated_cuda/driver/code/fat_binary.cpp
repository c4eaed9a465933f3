// SPDX-License-Identifier: Apache-2.0
#include "code/fat_binary.h"

#include <lz4.h>
#include <zstd.h>

#include <climits>

namespace gmt::sim {
namespace {

constexpr std::uint64_t kMaxPlain = std::uint64_t{1} << 30;

bool unpack_lz4(const FatBinaryEntry& entry, std::string* out) {
  if (entry.header.compressed_bytes > INT_MAX) return false;
  const int bytes =
    LZ4_decompress_safe(entry.code, out->data(), static_cast<int>(entry.header.compressed_bytes),
                        static_cast<int>(out->size()));
  return bytes >= 0 && static_cast<std::size_t>(bytes) == out->size();
}

bool unpack_zstd(const FatBinaryEntry& entry, std::string* out) {
  const std::size_t bytes =
    ZSTD_decompress(out->data(), out->size(), entry.code, entry.header.compressed_bytes);
  if (ZSTD_isError(bytes) != 0) return false;
  out->resize(bytes);
  return true;
}

bool unpack_bytes(const FatBinaryEntry& entry, std::string* out) {
  const bool zstd = (entry.header.flags & ptx::kFatbinZstd) != 0;
  if (!zstd && (entry.header.flags & ptx::kFatbinLz4) == 0) {
    out->assign(entry.code, entry.header.bytes);
    return true;
  }
  if (entry.header.plain_bytes == 0 || entry.header.plain_bytes > kMaxPlain) return false;
  out->resize(entry.header.plain_bytes);
  return zstd ? unpack_zstd(entry, out) : unpack_lz4(entry, out);
}

} // namespace

std::size_t fat_binary_bytes(const void* container) {
  const auto* header = static_cast<const ptx::FatbinContainer*>(container);
  return header->header_bytes + header->bytes;
}

bool unpack(const FatBinaryEntry& entry, std::string* out) {
  if (!unpack_bytes(entry, out)) return false;
  if (entry.is_ptx()) out->resize(out->find_last_not_of('\0') + 1);
  return true;
}

} // namespace gmt::sim
