// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/database/range_table.h"

#include <algorithm>

namespace gmt {

using trace::RangeOp;

void RangeTable::on_range(const Event& e, const Ranges& ranges) {
  const event::Range& view = e.range();
  switch (view.op) {
  case RangeOp::kPush: open_[e.thread].push_back({ranges.name_of(e), e.order, e.time}); break;
  case RangeOp::kPop: end_above(e.thread, view.open_ranges(), &e); break;
  case RangeOp::kThread: end_above(e.thread, 0, nullptr); break; // another one has its number now
  case RangeOp::kStart:
    started_.insert_or_assign(view.id, Open{ranges.name_of(e), e.order, e.time});
    break;
  case RangeOp::kEnd: {
    const auto at = started_.find(view.id);
    if (at == started_.end()) break;
    add(std::nullopt, 0, at->second, &e);
    started_.erase(at);
    break;
  }
  default: break;
  }
}

void RangeTable::end_above(std::uint32_t thread, std::size_t stay, const Event* end) {
  std::vector<Open>& open = open_[thread];
  while (open.size() > stay) {
    add(thread, open.size() - 1, open.back(), end);
    open.pop_back();
  }
}

void RangeTable::add(std::optional<std::uint64_t> thread, std::size_t depth, const Open& range,
                     const Event* end) {
  rows_.number(++last_).number(process_).number(thread).number(depth).text(range.name);
  rows_.number(clock_(range.time)).number(range.order);
  if (end != nullptr) rows_.number(clock_(end->time)).number(end->order);
  else rows_.null().null();
  rows_.done();
}

void RangeTable::finish() {
  std::vector<std::uint32_t> threads;
  for (const auto& [thread, open] : open_) threads.push_back(thread);
  std::ranges::sort(threads);
  for (const std::uint32_t thread : threads) end_above(thread, 0, nullptr);
  std::vector<const Open*> left;
  for (const auto& [id, range] : started_) left.push_back(&range);
  std::ranges::sort(left, {}, &Open::order);
  for (const Open* range : left) add(std::nullopt, 0, *range, nullptr);
}

} // namespace gmt
