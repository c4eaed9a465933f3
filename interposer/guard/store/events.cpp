// SPDX-License-Identifier: Apache-2.0
// An event that another context made is refused when it is recorded: a new one takes its place.
#include "interposer/guard/store/events.h"

#include <atomic>

#include "interposer/guard/driver.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kMostKeptEvents = 64;
constinit std::atomic<CUevent> kept_events[kMostKeptEvents] = {};

CUevent take_kept() noexcept {
  for (auto& slot : kept_events) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (CUevent event = slot.exchange(nullptr)) return event;
  }
  return nullptr;
}

} // namespace

CUevent event_behind(CUstream stream) noexcept {
  if (CUevent event = take_kept()) {
    if (guard_driver.record(event, stream) == 0) return event;
    guard_driver.end_event(event);
  }
  CUevent made = nullptr;
  if (guard_driver.make_event(&made, CU_EVENT_DISABLE_TIMING) != 0) return nullptr;
  if (guard_driver.record(made, stream) == 0) return made;
  guard_driver.end_event(made);
  return nullptr;
}

void keep_event(CUevent event) noexcept {
  for (auto& slot : kept_events) {
    CUevent none = nullptr;
    if (slot.compare_exchange_strong(none, event)) return;
  }
  guard_driver.end_event(event);
}

void forget_events() noexcept {
  for (auto& slot : kept_events) slot.store(nullptr);
}

} // namespace gmt::interposer
