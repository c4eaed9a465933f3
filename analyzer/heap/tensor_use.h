// SPDX-License-Identifier: Apache-2.0
// How much memory tensors hold, by call stack, now and at their peak: what PyTorch's cache keeps
// for reuse is not in it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analyzer/heap/block.h"
#include "analyzer/heap/peak_sum.h"

namespace gmt {

class TensorUse {
public:
  struct Stack : Holder {
    std::uint64_t allocations = 0;
    std::uint16_t api = trace::kNoApi;
  };

  void on_allocated(const Block& block) {
    Stack& stack = stacks_[block.allocated.value];
    ++stack.allocations;
    stack.api = block.api;
    ++live_blocks_;
    sum_.add_block(stack, block.bytes, block.allocated_at);
  }
  void on_freed(const Block& block) {
    --live_blocks_;
    sum_.take_block(stacks_[block.allocated.value], block.bytes);
  }

  // PyTorch's allocator gave out memory inside a capture. When the graph runs again, its results
  // lie where they lay, and the allocator does not give them out again.
  void on_captured() { any_captured_ = true; }
  bool any_captured() const { return any_captured_; }

  bool any() const { return peak_bytes() != 0; } // there has been a tensor
  std::uint64_t live_bytes() const { return sum_.live_bytes(); }
  std::uint64_t live_blocks() const { return live_blocks_; }
  std::uint64_t peak_bytes() const { return sum_.peak_bytes(); }
  std::uint64_t peak_order() const { return sum_.peak_order(); } // of the tensor that made it
  std::uint64_t bytes_at_peak(const Stack& stack) const { return sum_.bytes_at_peak(stack); }
  std::uint64_t blocks_at_peak(const Stack& stack) const { return sum_.blocks_at_peak(stack); }
  const std::unordered_map<std::uint32_t, Stack>& stacks() const { return stacks_; } // by StackId

private:
  std::unordered_map<std::uint32_t, Stack> stacks_;
  PeakSum sum_;
  std::uint64_t live_blocks_ = 0;
  bool any_captured_ = false;
};

} // namespace gmt
