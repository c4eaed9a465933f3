// SPDX-License-Identifier: Apache-2.0
// Walks the containers of a section. A file's device code lies in two: `.nv_fatbin` has what runs,
// `__nv_relfatbin` the parts that nvcc -rdc compiled, a container for each source file. Where
// nvlink joined the parts, `.nv_fatbin` has a container of the result; where it left that to the
// driver, the container is empty.
#pragma once

#include <cstddef>

#include "ptx/fatbin/fatbin.h"
#include "ptx/fatbin/reader.h"

namespace gmt::ptx {

inline constexpr char kFatbinCodeSection[] = ".nv_fatbin";
inline constexpr char kFatbinPartsSection[] = "__nv_relfatbin";

class FatbinSection {
public:
  FatbinSection(const char* bytes, std::size_t size) noexcept : bytes_(bytes), size_(size) {}

  // Sets `container` to begin at the next one; false: there is no further one.
  bool next(FatbinReader& container) noexcept {
    FatbinContainer header;
    while (size_ - at_ >= sizeof header) {
      std::memcpy(&header, bytes_ + at_, sizeof header);
      const bool begins = header.magic == kFatbinMagic && header.header_bytes >= sizeof header;
      if (begins) container = FatbinReader(bytes_ + at_, size_ - at_);
      skip(begins ? container.end() : kAlignment);
      if (begins) return true;
    }
    return false;
  }

private:
  static constexpr std::size_t kAlignment = 8; // of containers

  void skip(std::size_t bytes) noexcept {
    const std::size_t left = size_ - at_, padding = (kAlignment - bytes % kAlignment) % kAlignment;
    at_ += bytes < left && padding < left - bytes ? bytes + padding : left;
  }

  const char* bytes_;
  std::size_t size_, at_ = 0;
};

// Whether it is the driver that joins the parts, when it loads them. Of a file's
// `.nv_fatbin`; an object file of nvcc -rdc has none.
inline bool parts_are_linked_late(const char* code, std::size_t bytes) noexcept {
  FatbinSection section(code, bytes);
  FatbinReader container;
  while (section.next(container)) {
    FatbinEntry entry;
    if (!container.next(entry)) return true;
  }
  return bytes == 0;
}

} // namespace gmt::ptx
