// SPDX-License-Identifier: Apache-2.0
// What successful copies moved, by direction: by what the memory is where the heap knows it
// (managed memory counts as device memory), else by what the call declares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "analyzer/model/event.h"

namespace gmt {

class Heap;

class CopyUse {
public:
  enum Direction : std::uint8_t {
    kHostToDevice,
    kDeviceToHost,
    kDeviceToDevice,
    kPeer,
    kHostToHost
  };
  static constexpr std::size_t kDirections = kHostToHost + 1;
  struct Sum {
    std::uint64_t copies = 0, bytes = 0;
    std::uint64_t pageable_bytes = 0; // of `bytes`, with host memory on a side that is not pinned
  };

  void add(const Event& copy, const Heap& heap); // after Heap::apply
  const std::array<Sum, kDirections>& sums() const { return sums_; }

private:
  std::array<Sum, kDirections> sums_;
};

} // namespace gmt
