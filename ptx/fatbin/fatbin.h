// SPDX-License-Identifier: Apache-2.0
// The layout of fat binaries: a wrapper that nvcc's start-up code hands over (fatbinary_section.h
// of the toolkit), a container of entries, each a cubin (ELF) or PTX for one architecture, plain or
// compressed. NVIDIA documents the wrapper alone; the rest was learnt from nvcc 11 to 13.
//
// Allocates nothing and needs nothing of the C++ library, so that it fits into any process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::ptx {

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
inline constexpr std::uint16_t kFatbinPtx = 1, kFatbinCubin = 2;          // kind
inline constexpr std::uint64_t kFatbinLz4 = 0x2000, kFatbinZstd = 0x8000; // flags
inline constexpr std::uint64_t kFatbinOneArchitecture = 0x100000;         // sm_90a, not sm_90

// At options_offset of PTX's header, from which this counts: the words that nvcc gave to ptxas,
// such as "-maxrregcount=48 ".
struct FatbinOptions {
  std::uint32_t offset, bytes;
};

} // namespace gmt::ptx
