// SPDX-License-Identifier: Apache-2.0
// Bytes that blocks take in all, their peak, and what each holder had at that moment. A holder is
// a call stack.
//
// What each held at the peak is exact without ever copying the table of holders: each remembers
// what it held before its first change since a peak, and the number of that peak. If it is the last
// peak's number, the remembered value is what it held then; if not, it has not changed since.
#pragma once

#include <cstdint>

namespace gmt {

struct Holder {
  std::uint64_t bytes = 0, bytes_before = 0; // now, and before the first change since
  std::uint32_t blocks = 0, blocks_before = 0;
  std::uint64_t peak_number = 0; // this peak
};

class PeakSum {
public:
  // At a point of the order of events.
  void add_block(Holder& holder, std::uint64_t bytes, std::uint64_t order) {
    grow(holder, bytes, order);
    ++holder.blocks;
  }
  void grow(Holder& holder, std::uint64_t bytes, std::uint64_t order) {
    remember(holder);
    holder.bytes += bytes;
    live_bytes_ += bytes;
    if (live_bytes_ <= peak_bytes_) return;
    peak_bytes_ = live_bytes_;
    peak_order_ = order;
    ++peak_number_;
  }
  void take_block(Holder& holder, std::uint64_t bytes) {
    remember(holder);
    holder.bytes -= bytes;
    --holder.blocks;
    live_bytes_ -= bytes;
  }

  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t peak_order() const { return peak_order_; } // of what made it
  std::uint64_t bytes_at_peak(const Holder& holder) const {
    return holder.peak_number == peak_number_ ? holder.bytes_before : holder.bytes;
  }
  std::uint64_t blocks_at_peak(const Holder& holder) const {
    return holder.peak_number == peak_number_ ? holder.blocks_before : holder.blocks;
  }

private:
  void remember(Holder& holder) const {
    if (holder.peak_number == peak_number_) return;
    holder.peak_number = peak_number_;
    holder.bytes_before = holder.bytes;
    holder.blocks_before = holder.blocks;
  }

  std::uint64_t live_bytes_ = 0, peak_bytes_ = 0, peak_order_ = 0;
  std::uint64_t peak_number_ = 0;
};

} // namespace gmt
