// SPDX-License-Identifier: Apache-2.0
// See idle.h.
#include "interposer/cupti/idle.h"

#include "interposer/cupti/core.h"
#include "interposer/cupti/lock.h"
#include "interposer/cupti/this_thread.h"

namespace gmt::interposer::collector {

constinit Cupti cupti;
constinit std::atomic<bool> cupti_in_use{false};
constinit Governor governor;
constinit std::uint64_t wanted = 0;

void rest(Context& context) noexcept {
  context.rest_until.store(core->now() + rest_after(context.troubles_in_a_row.fetch_add(1)));
}

bool becomes_idle(Context& context, std::uint64_t patience) noexcept {
  const RelaxedCapture relaxed;
  for (const std::uint64_t began = core->now();; wait_a_little()) {
    if (context.submitting.load() == 0 && context.streams.are_idle(this_thread())) return true;
    if (core->now() - began >= patience) return false;
  }
}

bool becomes_idle_at_last(Context& context) noexcept {
  const std::uint64_t began = core->now();
  if (began < context.rest_until.load()) {
    context.look_again_at.store(began + kGlance);
    return becomes_idle(context, 0);
  }
  const bool idle = becomes_idle(context, kMostHolding);
  governor.charge(core->now() - began);
  if (!idle) rest(context);
  return idle;
}

} // namespace gmt::interposer::collector
