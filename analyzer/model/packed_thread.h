// SPDX-License-Identifier: Apache-2.0
// Threads and blocks of the device in 8 bytes each: a process has millions of them.
#pragma once

#include <cstdint>

#include "trace/vocabulary.h"

namespace gmt {

// A block's index, or a grid's or block's extents: x below 2^31, y and z below 2^16.
class PackedIndex {
public:
  constexpr PackedIndex() = default;
  constexpr explicit PackedIndex(trace::Index3 index)
      : word_(std::uint64_t{index.x & 0x7fffffffu} | std::uint64_t{index.y & 0xffffu} << 31 |
              std::uint64_t{index.z & 0xffffu} << 47) {}

  constexpr trace::Index3 index() const {
    return {static_cast<unsigned>(word_ & 0x7fffffff), static_cast<unsigned>(word_ >> 31 & 0xffff),
            static_cast<unsigned>(word_ >> 47)};
  }
  friend constexpr bool operator==(PackedIndex, PackedIndex) = default;

private:
  std::uint64_t word_ = 0;
};

// Which site of the source called, and which thread of the block: x and y below 1,024, z below 64.
class PackedThread {
public:
  constexpr PackedThread() = default;
  constexpr PackedThread(std::uint32_t site, trace::Index3 index)
      : word_(std::uint64_t{site} | std::uint64_t{index.x & 1023u} << 32 |
              std::uint64_t{index.y & 1023u} << 42 | std::uint64_t{index.z & 63u} << 52) {}

  constexpr std::uint32_t site() const { return static_cast<std::uint32_t>(word_); } // 0 unknown
  constexpr trace::Index3 index() const {
    return {static_cast<unsigned>(word_ >> 32 & 1023), static_cast<unsigned>(word_ >> 42 & 1023),
            static_cast<unsigned>(word_ >> 52 & 63)};
  }

private:
  std::uint64_t word_ = 0;
};

} // namespace gmt
