// SPDX-License-Identifier: Apache-2.0
// Single events without a trace, for tests of classes that take events:
//
//   EventMaker make;
//   table.on_life(make(Made<trace::LifeFields>().handle(7).object(ObjectClass::kPool).op(LifeOp::kCreate)));
//
// Each event has the next order number. They live as long as their maker.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "analyzer/model/event.h"
#include "tests/unit/analyzer/support/record_words.h"

namespace gmt::test {

struct EventHead {
  std::uint16_t result = 0;
  std::uint16_t flags = 0;
  std::uint16_t context = 1;
  std::uint32_t thread = 0;
  StackId stack = {};
};

class EventMaker {
public:
  template <template <class> class Fields>
  Event operator()(const Fields<PayloadWords>& fields, const EventHead& head = {},
                   const std::vector<std::uint64_t>& rest = {}) {
    payloads_.push_back(words_of(fields, rest));
    ++order_;
    return {.kind = fields.kKind,
            .api = 0,
            .via = trace::kNoApi,
            .flags = head.flags,
            .result = head.result,
            .context = head.context,
            .thread = head.thread,
            .log = 0,
            .stack = head.stack,
            .order = order_,
            .time = 0,
            .ticks = 0,
            .payload = payloads_.back()};
  }
  std::uint64_t order() const { return order_; } // of the newest event

private:
  std::deque<std::vector<std::uint64_t>> payloads_;
  std::uint64_t order_ = 0;
};

} // namespace gmt::test
