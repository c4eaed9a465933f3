// SPDX-License-Identifier: Apache-2.0
// Walks the entries of a container. Believes none of its sizes: reads nothing outside the bytes
// that it was given, and ends at the first entry whose header is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "ptx/fatbin/fatbin.h"

namespace gmt::ptx {

struct FatbinEntry {
  FatbinEntryHeader header{};
  const char* code = nullptr; // as it is stored
  std::size_t bytes = 0;      // of it in the container: fewer than header.bytes if it is cut off

  bool is_ptx() const noexcept { return header.kind == kFatbinPtx; }
  bool is_cubin() const noexcept { return header.kind == kFatbinCubin; }
  bool is_whole() const noexcept { return bytes == header.bytes; }
};

inline std::uint32_t magic_of(const void* bytes) noexcept {
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes, sizeof magic);
  return magic;
}

// Bytes of a container with its header, as this says; the largest number if they are even more.
inline std::uint64_t fatbin_bytes(const void* container) noexcept {
  FatbinContainer header;
  std::memcpy(&header, container, sizeof header);
  const std::uint64_t bytes = header.bytes + header.header_bytes;
  return bytes >= header.bytes ? bytes : ~std::uint64_t{0};
}

class FatbinReader {
public:
  FatbinReader() noexcept = default; // has no entries

  // Of a container at `container`, `available` bytes may be read.
  FatbinReader(const char* container, std::size_t available) noexcept : container_(container) {
    FatbinContainer header;
    if (available < sizeof header) return;
    std::memcpy(&header, container, sizeof header);
    if (header.header_bytes < sizeof header) return;
    at_ = least(header.header_bytes, available);
    end_ = at_ + least(header.bytes, available - at_);
  }

  // Where the container ends, as far as it may be read; 0 if it has no header.
  std::size_t end() const noexcept { return end_; }

  // False: there is no further entry.
  bool next(FatbinEntry& entry) noexcept {
    FatbinEntryHeader& header = entry.header;
    if (end_ - at_ < sizeof header) return false;
    std::memcpy(&header, container_ + at_, sizeof header);
    if (header.header_bytes < sizeof header || header.header_bytes > end_ - at_) {
      at_ = end_;
      return false;
    }
    at_ += header.header_bytes;
    entry.code = container_ + at_;
    entry.bytes = least(header.bytes, end_ - at_);
    at_ += entry.bytes;
    return true;
  }

private:
  static std::size_t least(std::uint64_t claimed, std::size_t there) noexcept {
    return claimed < there ? static_cast<std::size_t>(claimed) : there;
  }

  const char* container_ = nullptr;
  std::size_t at_ = 0, end_ = 0;
};

} // namespace gmt::ptx
