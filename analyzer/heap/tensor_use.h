// SPDX-License-Identifier: Apache-2.0
// How much memory tensors hold, by call stack, now and at their peak: what PyTorch's cache keeps
// for reuse is not in it. The idea is that of MemoryUse.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/heap/block.h"

namespace gmt {

class TensorUse {
public:
  struct Stack {
    std::uint64_t bytes = 0, blocks = 0;               // now
    std::uint64_t bytes_before = 0, blocks_before = 0; // before the first change since
    std::uint64_t peak_number = 0;                     // this peak
    std::uint64_t allocations = 0;
    std::uint16_t api = trace::kNoApi;
  };

  void on_allocated(const Block& block) {
    Stack& stack = changed(block);
    ++stack.allocations;
    stack.api = block.api;
    stack.bytes += block.bytes;
    ++stack.blocks;
    ++live_blocks_;
    live_bytes_ += block.bytes;
    if (live_bytes_ <= peak_bytes_) return;
    peak_bytes_ = live_bytes_;
    peak_order_ = block.allocated_at;
    ++peak_number_;
  }
  void on_freed(const Block& block) {
    Stack& stack = changed(block);
    stack.bytes -= block.bytes;
    --stack.blocks;
    --live_blocks_;
    live_bytes_ -= block.bytes;
  }

  // PyTorch's allocator gave out memory inside a capture. When the graph runs again, its results
  // lie where they lay, and the allocator does not give them out again.
  void on_captured() { any_captured_ = true; }
  bool any_captured() const { return any_captured_; }

  bool any() const { return peak_bytes_ != 0; } // there has been a tensor
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t live_blocks() const { return live_blocks_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t peak_order() const { return peak_order_; } // of the tensor that made it
  std::uint64_t bytes_at_peak(const Stack& s) const {
    return s.peak_number == peak_number_ ? s.bytes_before : s.bytes;
  }
  std::uint64_t blocks_at_peak(const Stack& s) const {
    return s.peak_number == peak_number_ ? s.blocks_before : s.blocks;
  }
  const std::unordered_map<std::uint32_t, Stack>& stacks() const { return stacks_; } // by StackId

private:
  Stack& changed(const Block& block) {
    Stack& stack = stacks_[block.allocated.value];
    if (stack.peak_number != peak_number_) {
      stack.peak_number = peak_number_;
      stack.bytes_before = stack.bytes;
      stack.blocks_before = stack.blocks;
    }
    return stack;
  }

  std::unordered_map<std::uint32_t, Stack> stacks_;
  std::uint64_t live_bytes_ = 0, live_blocks_ = 0;
  std::uint64_t peak_bytes_ = 0, peak_order_ = 0, peak_number_ = 0;
  bool any_captured_ = false;
};

} // namespace gmt
