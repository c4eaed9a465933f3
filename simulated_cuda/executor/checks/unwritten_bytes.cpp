// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/checks/unwritten_bytes.h"

#include <algorithm>

namespace gmt::executor {

void UnwrittenBytes::add_row(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t begin = address, end = address + bytes;
  while (address < end && !has_too_many_) {
    const std::uint64_t from = memory_.first_uninitialized(address, end - address);
    if (from >= end) break;
    const std::uint64_t to = memory_.first_initialized(from, end - from);
    const std::uint64_t at = read_ + (from - begin);
    if (!runs_.empty() && runs_.back().end() == at) runs_.back().bytes += to - from;
    else runs_.push_back({at, to - from, from});
    missing_ += to - from;
    last_end_ = to;
    has_too_many_ = runs_.size() >= kMostRuns;
    address = to;
  }
  read_ += bytes;
}

UnwrittenBytes::Form UnwrittenBytes::form(std::uint64_t block_end) const {
  if (runs_.empty()) return Form::kNone;
  if (has_too_many_) return Form::kGaps;
  if (missing_ == read_) return Form::kWhole;
  if (is_padding(runs_.size(), read_)) return Form::kGaps;
  return is_tail(block_end) ? Form::kTail : Form::kPart;
}

bool UnwrittenBytes::is_tail(std::uint64_t block_end) const {
  const Run& last = runs_.back();
  if (last.end() != read_ || memory_.has_moved(last.address, last_end_ - last.address))
    return false;
  const bool ends_block = memory_.first_initialized(last_end_, block_end - last_end_) >= block_end;
  return ends_block && (runs_.size() == 1 || is_padding(runs_.size() - 1, last.at));
}

bool UnwrittenBytes::is_padding(std::size_t count, std::uint64_t end) const {
  if (count == 1 && runs_.size() == 1 && fills_up()) return true;
  constexpr std::size_t kMostFields = 64; // gaps of one structure
  for (std::size_t every = 1; every <= kMostFields && every < count; ++every) {
    if (repeats(count, every, end)) return true;
  }
  return false;
}

// Each run comes again one stride later, from the first element to the last, which may be cut off.
bool UnwrittenBytes::repeats(std::size_t count, std::size_t every, std::uint64_t end) const {
  const std::uint64_t stride = runs_[every].at - runs_[0].at;
  for (std::size_t i = 0; i + every < count; ++i) {
    const Run &here = runs_[i], &next = runs_[i + every];
    const bool is_cut = next.end() == end && next.bytes < here.bytes;
    if (next.at - here.at != stride || (next.bytes != here.bytes && !is_cut)) return false;
  }
  constexpr std::uint64_t kOften = 3, kSmall = 64, kRow = 256; // where a row of pitched memory ends
  const bool are_rows = stride % kRow == 0 && (runs_[0].address + runs_[0].bytes) % kRow == 0;
  if (count / every < kOften && stride > kSmall && !are_rows) return false;
  const std::uint64_t before = runs_[0].at, behind = end - runs_[count - 1].end();
  return before < stride && behind < stride;
}

// One structure whose last gap ends where a field of eight bytes, or the structure, does.
bool UnwrittenBytes::fills_up() const {
  constexpr std::uint64_t kLargest = 256, kField = 8;
  const Run& gap = runs_.front();
  return read_ <= kLargest && gap.bytes < kField && gap.address % kField != 0 &&
         (gap.address + gap.bytes) % kField == 0;
}

} // namespace gmt::executor
