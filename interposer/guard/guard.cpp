// SPDX-License-Identifier: Apache-2.0
// Replacements are put in the driver's place when the session starts; addresses are reserved by the
// first allocation, because the driver must be initialised then.
#include "interposer/guard/guard.h"

#include <atomic>
#include <cstdlib>

#include "interposer/guard/captures.h"
#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/exclusions.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/replacements/replacements.h"
#include "interposer/guard/slack.h"
#include "interposer/guard/store/events.h"
#include "interposer/guard/store/physical.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constinit std::atomic<bool> is_guarding{false};
constinit std::atomic<bool> asked_for{false};
enum Addresses : int { kUnknown, kBeingReserved, kThere, kRefused };
constinit std::atomic<int> addresses{kUnknown};

void install(std::uint16_t row, void* function) noexcept { replace_driver_function(row, function); }

void write_counts_at_exit(int, void*) noexcept {
  if (asked_for.load() && is_recorded_process()) write_guard_counts();
}

// Registered behind the driver's own handlers, so that it runs before them.
void check_at_exit(int, void*) noexcept {
  if (!guard_is_on() || !is_recorded_process()) return;
  finish_releases(false);
  check_live_blocks(nullptr, trace::GuardMoment::kEnd);
}

bool reserve() noexcept {
  if (!reserve_guard_addresses()) return false;
  static constinit bool registered = false;
  if (!registered) registered = on_exit(check_at_exit, nullptr) == 0;
  return true;
}

} // namespace

bool guard_is_on() noexcept {
  return is_guarding.load(std::memory_order_relaxed) && Process::is_on();
}

bool guard_has_addresses() noexcept {
  int state = addresses.load(std::memory_order_acquire);
  if (state == kUnknown && addresses.compare_exchange_strong(state, kBeingReserved)) {
    addresses.store(reserve() ? kThere : kRefused, std::memory_order_release);
    state = addresses.load();
  }
  constexpr int kMostWaits = 50000; // of 20 microseconds
  for (int i = 0; state == kBeingReserved && i < kMostWaits; ++i) {
    wait_a_little();
    state = addresses.load(std::memory_order_acquire);
  }
  return state == kThere;
}

void begin_guard() noexcept {
  const Options& options = Process::options();
  is_guarding.store(false);
  asked_for.store(has_guard(options));
  if (!asked_for.load()) return;
  static constinit bool registered = false; // a forked child inherits it
  if (!registered) registered = on_exit(write_counts_at_exit, nullptr) == 0;
  driver_function(trace::kApi_cuInit); // so that it is known which functions there are
  if (any_wrapper.load() || !guard_driver_is_complete()) return;
  install_memory(install);
  install_contexts(install);
  install_queries(install);
  install_ranges(install);
  install_graph_copies(install);
  if (options.guard_check != 0) install_launches(install);
  is_guarding.store(true);
}

void forget_guard() noexcept {
  is_guarding.store(false);
  addresses.store(kUnknown);
  forget_guard_blocks();
  forget_guard_devices();
  forget_kept();
  forget_pools();
  forget_events();
  forget_captures();
  forget_slack();
  forget_exclusions();
  forget_guard_counts();
}

} // namespace gmt::interposer
