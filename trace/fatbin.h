// SPDX-License-Identifier: Apache-2.0
// The layout of fat binaries: a wrapper that nvcc's start-up code hands over (fatbinary_section.h of the toolkit), a
// container of entries, each a cubin (ELF) or PTX for one architecture, plain or compressed. NVIDIA documents the wrapper
// alone; the rest was learnt from nvcc 11 to 13.
//
// C++17, includes nothing of ours and nothing of CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::trace {

struct FatbinWrapper {
  std::uint32_t magic, version;
  const void* data; // the container
  void* more;
};
inline constexpr std::uint32_t kFatbinWrapperMagic = 0x466243b1;

struct FatbinContainer {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes; // of the entries, which follow the header
};
inline constexpr std::uint32_t kFatbinMagic = 0xba55ed50;

struct FatbinEntryHeader {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes; // of the code, which follows the header
  std::uint32_t compressed_bytes, options_offset;
  std::uint16_t minor, major;
  std::uint32_t architecture, name_offset, name_bytes; // 90 for sm_90 and sm_90a
  std::uint64_t flags, zero, plain_bytes;
};
static_assert(sizeof(FatbinContainer) == 16 && sizeof(FatbinEntryHeader) == 64);
inline constexpr std::uint16_t kFatbinPtx = 1, kFatbinCubin = 2;         // kind
inline constexpr std::uint64_t kFatbinLz4 = 0x2000, kFatbinZstd = 0x8000; // flags

// Unpacks one block in LZ4's block format. False if it is damaged or does not fill `plain`.
inline bool unpack_lz4(const char* packed, std::size_t packed_bytes, char* plain, std::size_t plain_bytes) {
  std::size_t from = 0, to = 0;
  bool ok = true;
  const auto byte_at = [&](std::size_t at) { return static_cast<unsigned char>(packed[at]); };
  const auto length = [&](std::size_t value) { // 15 goes on in bytes, of which 255 go on
    for (unsigned byte = 255; value >= 15 && byte == 255; value += byte) {
      if (from == packed_bytes) return ok = false, value;
      byte = byte_at(from++);
    }
    return value;
  };
  while (from < packed_bytes) {
    const unsigned token = byte_at(from++);
    const std::size_t literals = length(token >> 4);
    if (!ok || literals > packed_bytes - from || literals > plain_bytes - to) return false;
    for (std::size_t i = 0; i < literals; ++i) plain[to++] = packed[from++];
    if (from == packed_bytes) break; // the last sequence is literals only
    if (packed_bytes - from < 2) return false;
    const std::size_t distance = byte_at(from) | static_cast<std::size_t>(byte_at(from + 1)) << 8;
    from += 2;
    const std::size_t repeated = length(token & 15) + 4;
    if (!ok || distance == 0 || distance > to || repeated > plain_bytes - to) return false;
    for (std::size_t i = 0; i < repeated; ++i, ++to) plain[to] = plain[to - distance]; // may overlap
  }
  return to == plain_bytes;
}

} // namespace gmt::trace
