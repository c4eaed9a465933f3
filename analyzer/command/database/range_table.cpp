// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/database/range_table.h"

#include <algorithm>

namespace gmt {

using trace::RangeOp;

void RangeTable::on_range(const Event& e, const Ranges& ranges) {
  const event::Range& view = e.range();
  switch (view.op) {
  case RangeOp::kPush: open_[e.thread].push_back(e); break;
  case RangeOp::kPop: end_above(e.thread, view.open_ranges(), &e, ranges); break;
  case RangeOp::kThread: end_above(e.thread, 0, nullptr, ranges); break; // its number is another's
  case RangeOp::kStart: started_.insert_or_assign(view.id, e); break;
  case RangeOp::kEnd: {
    const auto at = started_.find(view.id);
    if (at == started_.end()) break;
    add(std::nullopt, 0, at->second, &e, ranges);
    started_.erase(at);
    break;
  }
  default: break;
  }
}

void RangeTable::end_above(std::uint32_t thread, std::size_t stay, const Event* end,
                           const Ranges& ranges) {
  std::vector<Event>& open = open_[thread];
  while (open.size() > stay) {
    add(thread, open.size() - 1, open.back(), end, ranges);
    open.pop_back();
  }
}

void RangeTable::add(std::optional<std::uint64_t> thread, std::size_t depth, const Event& begin,
                     const Event* end, const Ranges& ranges) {
  rows_.number(++last_).number(process_).number(thread).number(depth);
  rows_.text(ranges.name_of(begin)).number(clock_(begin.time)).number(begin.order);
  if (end != nullptr) rows_.number(clock_(end->time)).number(end->order);
  else rows_.null().null();
  rows_.done();
}

void RangeTable::finish(const Ranges& ranges) {
  std::vector<std::uint32_t> threads;
  for (const auto& [thread, open] : open_) threads.push_back(thread);
  std::ranges::sort(threads);
  for (const std::uint32_t thread : threads) end_above(thread, 0, nullptr, ranges);
  std::vector<const Event*> left;
  for (const auto& [id, begin] : started_) left.push_back(&begin);
  std::ranges::sort(left, {}, &Event::order);
  for (const Event* begin : left) add(std::nullopt, 0, *begin, nullptr, ranges);
}

} // namespace gmt
