// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/live/span_memory.h"

#include <algorithm>

namespace gmt {

void SpanMemory::begin(std::uint64_t order) { *this = SpanMemory(order); }

void SpanMemory::pause(std::uint64_t order) {
  if (depth_++ == 0) pauses_.push_back({order, UINT64_MAX});
}

void SpanMemory::resume(std::uint64_t order) {
  if (depth_ == 0 || --depth_ != 0) return;
  pauses_.back().until = order;
}

bool SpanMemory::contains(const Block& block) const {
  const std::uint64_t order = block.allocated_at;
  return order > begin_ && std::ranges::none_of(pauses_, [order](const Pause& pause) {
           return order > pause.after && order <= pause.until;
         });
}

void SpanMemory::on_change(const MemoryChange& change) {
  if (!contains(change.block)) return;
  live_bytes_ += static_cast<std::uint64_t>(change.bytes); // less, where they are negative
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
}

void SpanMemory::on_tensor(const MemoryChange& change) {
  if (!contains(change.block)) return;
  tensor_bytes_ += static_cast<std::uint64_t>(change.bytes);
  tensor_peak_bytes_ = std::max(tensor_peak_bytes_, tensor_bytes_);
}

} // namespace gmt
