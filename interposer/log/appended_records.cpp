// SPDX-License-Identifier: Apache-2.0
// Records that a ThreadLog is given whole, and the slots behind a record's first one.
#include <cstring>

#include "interposer/log/process.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

void ThreadLog::fill_more(trace::Slot* slot, const std::uint64_t* words, unsigned count) noexcept {
  auto* more = reinterpret_cast<trace::MoreSlot*>(slot + 1);
  for (unsigned done = trace::kFirstPayloadWords; done < count;
       done += trace::kMorePayloadWords, ++more) {
    const unsigned rest = count - done;
    const unsigned n = rest < trace::kMorePayloadWords ? rest : trace::kMorePayloadWords;
    std::memset(more->payload, 0, sizeof more->payload);
    // Atomic, so that no compiler makes a call of memcpy of it: these are a few words.
    for (unsigned i = 0; i < n; ++i)
      __atomic_store_n(&more->payload[i], words[done + i], __ATOMIC_RELAXED);
    __atomic_store_n(&more->head, trace::pack({trace::Kind::kMore, 1, trace::kNoApi, 0, 0}),
                     __ATOMIC_RELEASE);
  }
}

void ThreadLog::abandon(trace::Slot* slot, unsigned slots) noexcept {
  commit(slot, trace::pack(
                 {trace::Kind::kAbandoned, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0}));
}

void ThreadLog::append(const Record& record, std::uint16_t api) noexcept {
  const unsigned slots = trace::slots_for(record.words);
  trace::Slot* slot = reserve(slots, Worth::kNeeded);
  if (slot == nullptr) return;
  slot->order = Process::next_order();
  slot->time = read_tsc();
  slot->stack = 0;
  slot->context = 0;
  slot->via = trace::kNoApi;
  fill(slot, record);
  commit(slot, trace::pack({record.kind, static_cast<std::uint8_t>(slots), api, record.flags, 0}));
}

trace::Slot* ThreadLog::append_words(trace::Kind kind, const std::uint64_t* words, unsigned count,
                                     std::uint16_t context, bool droppable) noexcept {
  const unsigned slots = trace::slots_for(count);
  trace::Slot* slot = reserve(slots, droppable ? Worth::kDroppable : Worth::kNeeded);
  if (slot == nullptr) return nullptr;
  slot->order = Process::current_order();
  slot->time = read_tsc();
  slot->stack = 0;
  slot->context = context;
  slot->via = trace::kNoApi;
  for (unsigned i = 0; i < trace::kFirstPayloadWords; ++i) slot->a[i] = i < count ? words[i] : 0;
  if (count > trace::kFirstPayloadWords) fill_more(slot, words, count);
  commit(slot, trace::pack({kind, static_cast<std::uint8_t>(slots), trace::kNoApi, 0, 0}));
  return slot;
}

} // namespace gmt::interposer
