// SPDX-License-Identifier: Apache-2.0
// Unpacks the code of an entry into memory of the caller's, by the libraries of zstd and LZ4.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include <lz4.h>
#include <zstd.h>

#include "ptx/fatbin/reader.h"

namespace gmt::ptx {

enum class FatbinPacking : std::uint8_t { kPlain, kLz4, kZstd };

inline FatbinPacking packing_of(const FatbinEntryHeader& header) noexcept {
  if ((header.flags & kFatbinZstd) != 0) return FatbinPacking::kZstd;
  return (header.flags & kFatbinLz4) != 0 ? FatbinPacking::kLz4 : FatbinPacking::kPlain;
}

// Of what is stored: behind packed code there is padding.
inline std::size_t packed_bytes(const FatbinEntry& entry) noexcept {
  const bool packed = packing_of(entry.header) != FatbinPacking::kPlain;
  return packed && entry.header.compressed_bytes < entry.bytes ? entry.header.compressed_bytes
                                                               : entry.bytes;
}

// Of what is packed, to `to` with room for what the entry says it was. Sets how many bytes it is;
// false: it is damaged.
inline bool unpack_code(FatbinPacking packing, const char* from, std::size_t from_bytes, char* to,
                        std::size_t room, std::size_t* bytes) noexcept {
  if (packing == FatbinPacking::kZstd) {
    *bytes = ZSTD_decompress(to, room, from, from_bytes);
    return ZSTD_isError(*bytes) == 0;
  }
  if (from_bytes > INT_MAX || room > INT_MAX) return false; // LZ4 counts in int
  *bytes = room;
  const int unpacked =
    LZ4_decompress_safe(from, to, static_cast<int>(from_bytes), static_cast<int>(room));
  return unpacked >= 0 && static_cast<std::size_t>(unpacked) == room;
}

} // namespace gmt::ptx
