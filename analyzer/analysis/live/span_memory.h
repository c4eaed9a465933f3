// SPDX-License-Identifier: Apache-2.0
// The memory that calls of one span allocate: from a point of the process's order on, its pauses
// left out.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/heap/block.h"
#include "analyzer/heap/memory_watch.h"

namespace gmt {

class SpanMemory final : public MemoryWatch {
public:
  SpanMemory() = default;
  explicit SpanMemory(std::uint64_t order) : begin_(order) {}

  // Each is given the order of the last call before it. Pauses may stand within each other.
  void begin(std::uint64_t order);
  void pause(std::uint64_t order);
  void resume(std::uint64_t order); // does nothing without a pause

  bool contains(const Block& block) const;
  std::uint64_t live_bytes() const { return live_bytes_; } // of device memory, now
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t tensor_bytes() const { return tensor_bytes_; } // of the span's tensors, now
  std::uint64_t tensor_peak_bytes() const { return tensor_peak_bytes_; }

  void on_change(const MemoryChange& change) override;
  void on_tensor(const MemoryChange& change) override;

private:
  struct Pause {
    std::uint64_t after, until;
  };
  std::uint64_t begin_ = 0;
  std::vector<Pause> pauses_; // in order
  unsigned depth_ = 0;        // of the pauses that are open: the last one's `until` is open
  std::uint64_t live_bytes_ = 0, peak_bytes_ = 0;
  std::uint64_t tensor_bytes_ = 0, tensor_peak_bytes_ = 0;
};

} // namespace gmt
