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
#include "analyzer/trace_reader/event_decoder.h"
#include "tests/unit/analyzer/support/record_words.h"
#include "trace/object_class.h"

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
    Made& made = made_.emplace_back();
    made.words = words_of(fields, rest);
    Event e;
    e.api = 0;
    e.result = head.result;
    e.context = head.context;
    e.thread = head.thread;
    e.stack = head.stack;
    e.order = ++order_;
    decode_words(fields.kKind, head.flags, {made.words.data(), made.words.size()}, made.parts, e);
    return e;
  }
  std::uint64_t order() const { return order_; } // of the newest event

private:
  struct Made {
    std::vector<std::uint64_t> words;
    EventParts parts;
  };
  std::deque<Made> made_;
  std::uint64_t order_ = 0;
};

} // namespace gmt::test
