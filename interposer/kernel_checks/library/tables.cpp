// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/tables.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"

namespace gmt::interposer::kernel_checks {

namespace {

enum class Entering : std::uint8_t { kNever, kLater, kNow, kDone, kRefused };

// A context is known from its first try on, so that one that gets no table is not tried again.
struct Known {
  Table table;
  std::atomic<CUcontext> context{nullptr}; // changed with the lock
  std::atomic<CUcontext> primary{nullptr}; // whose table it has, too: it is a green context
  std::atomic<Entering> entering{Entering::kNever};
};
struct AllTables {
  AllTables() noexcept {
    for (unsigned i = 0; i < kMostTables; ++i) all[i].table.number(i);
  }
  std::array<Known, kMostTables> all;
};
constinit Lasting<AllTables> tables;
constinit std::atomic<unsigned> tables_of_contexts{0}; // tables that contexts have
constinit std::atomic<Table*> only{nullptr};           // while that is 1
constinit std::atomic<bool> is_any_entering{false};    // one context at a time does

void recount() noexcept {
  unsigned now = 0;
  Table* last = nullptr;
  for (Known& known : (*tables).all) {
    if (known.table.context() == nullptr) continue;
    last = &known.table;
    ++now;
  }
  only.store(now == 1 ? last : nullptr, std::memory_order_release);
  tables_of_contexts.store(now, std::memory_order_release);
}

// With the lock. That of the context, or a free one for it; null: there is none.
Known* find_slot(CUcontext context) noexcept {
  auto& all = (*tables).all;
  const auto has = [&all](CUcontext wanted) {
    return std::ranges::find_if(all, [=](const Known& one) { return one.context == wanted; });
  };
  if (const auto own = has(context); own != all.end()) return &*own;
  const bool is_taken = !may_be_several() && std::ranges::any_of(all, [](const Known& one) {
    return one.context.load() != nullptr && one.primary.load() == nullptr &&
           one.entering.load() != Entering::kRefused;
  });
  const auto free = has(nullptr);
  return is_taken || free == all.end() ? nullptr : &*free;
}

// What another thread does is waited for, though not for ever: its calls may wait for a kernel of
// the program's, and that for this thread. What is done then is unknown memory and plain code.
template <class Is> bool wait_until(Is is) noexcept {
  constexpr int kMostWaits = 10000;
  constexpr timespec kWait{0, 200000}; // nanoseconds
  for (int i = 0; i < kMostWaits; ++i) {
    if (is()) return true;
    nanosleep(&kWait, nullptr);
  }
  return false;
}

// Whose table the current context has, too, as a stream of it says; null: it is no green one.
CUcontext primary_by(CUstream stream) noexcept {
  CUcontext context = nullptr, primary = nullptr;
  CUgreenCtx green = nullptr;
  const bool is_green = driver.current(&context) == 0 &&
                        driver.stream_contexts(stream, &primary, &green) == 0 && green != nullptr;
  return is_green && primary != context ? primary : nullptr;
}
CUcontext primary_of_current() noexcept {
  CUstream stream = nullptr;
  if (!driver.stream_contexts.is_there() ||
      driver.make_stream(&stream, CU_STREAM_NON_BLOCKING) != 0)
    return nullptr;
  const CUcontext primary = primary_by(stream);
  driver.end_stream(stream);
  return primary;
}

// Loading code may wait for kernels of other contexts of the device, and these for the host.
bool may_be_held_up() noexcept {
  CUdevice device = -1;
  if (!is_any_table()) return false;
  if (driver.device(&device) != 0) return true;
  bool may = false;
  for_each_table([&](const Table& one) { may |= one.device() == device && may_run(one.index()); });
  return may;
}

bool enter_as(CUcontext primary, Known& known) noexcept {
  known.primary.store(primary);
  const Work work(primary);
  return table_of(primary) != nullptr || (work.ready() && enter_table(primary));
}

bool enter_now(Known& known) noexcept {
  if (const CUcontext primary = primary_of_current()) return enter_as(primary, known);
  if (!wait_until([] { return !is_any_entering.exchange(true); })) return false;
  const bool is_entered = known.table.enter(known.context);
  const Locked lock;
  recount();
  is_any_entering.store(false);
  return is_entered;
}

void leave(Known& known) noexcept {
  if (known.table.context() != nullptr) pass_on_writing(known.table);
  known.table.leave();
  const Locked lock;
  known.context = nullptr;
  known.primary.store(nullptr);
  known.entering.store(Entering::kNever);
  recount();
}

} // namespace

Table& table_at(unsigned index) noexcept { return (*tables).all[index].table; }

bool is_any_table() noexcept { return tables_of_contexts.load(std::memory_order_acquire) != 0; }

Table* table_of(CUcontext context) noexcept {
  if (context == nullptr || !is_any_table()) return nullptr;
  for (Known& known : (*tables).all) {
    if (known.table.context() == context) return &known.table;
  }
  for (Known& known : (*tables).all) {
    const CUcontext primary = known.context == context ? known.primary.load() : nullptr;
    if (primary != nullptr && primary != context) return table_of(primary);
  }
  return nullptr;
}

CUcontext context_of_stream(CUstream stream) noexcept {
  static constinit std::atomic<bool> is_old{false}; // a driver before 12.5: asked for once
  CUcontext context = nullptr;
  CUgreenCtx green = nullptr;
  if (!is_old.load(std::memory_order_relaxed)) {
    const int result = driver.stream_contexts(stream, &context, &green);
    if (result == 0 && context != nullptr) return context;
    is_old.store(result == kNoSuchFunction);
  }
  return driver.stream_context(stream, &context) == 0 ? context : nullptr;
}

Table& table() noexcept {
  if (Table* const one = only.load(std::memory_order_acquire)) return *one;
  CUcontext current = nullptr;
  if (!is_any_table() || driver.current(&current) != 0) return first_table();
  if (Table* const own = table_of(current)) return *own;
  for (Known& known : (*tables).all) {
    if (known.table.context() != nullptr) return known.table;
  }
  return first_table();
}

bool may_be_several() noexcept {
  return !core->settings.checks_written && !core->settings.patches_code;
}

// The context is current.
bool enter_table(CUcontext context) noexcept {
  Known* known = nullptr;
  bool is_own_try = false;
  {
    const Locked lock;
    known = find_slot(context);
    if (known == nullptr) return false;
    const Entering now = known->entering.load();
    is_own_try = known->context == nullptr || now == Entering::kLater;
    if (is_own_try) {
      known->context = context;
      known->entering.store(Entering::kNow);
    }
  }
  if (!is_own_try) {
    wait_until([known] { return known->entering.load() != Entering::kNow; });
    return table_of(context) != nullptr;
  }
  const CUcontext primary = primary_by(CU_STREAM_LEGACY);
  if (primary == nullptr && may_be_held_up()) {
    known->entering.store(Entering::kLater);
    return false;
  }
  const bool is_entered = primary != nullptr ? enter_as(primary, *known) : enter_now(*known);
  known->entering.store(is_entered ? Entering::kDone : Entering::kRefused);
  return is_entered;
}

void pass_on_writing(const Table& ended) noexcept {
  if (!ended.is_writer()) return;
  for (Known& other : (*tables).all) {
    const bool has_table = &other.table != &ended && other.table.context() != nullptr;
    if (has_table && other.table.shares_memory_with(ended)) return other.table.take_over();
  }
}

void leave_table(CUcontext context) noexcept {
  for (Known& known : (*tables).all) {
    const bool is_refused = known.entering.load() == Entering::kRefused;
    if (is_refused || (context != nullptr && known.context == context)) leave(known);
  }
}

void forget_green_contexts() noexcept {
  for (Known& known : (*tables).all) {
    if (known.primary.load() != nullptr) leave(known);
  }
}

void leave_tables() noexcept {
  for (Known& known : (*tables).all) leave(known);
}

void abandon_tables() noexcept {
  leave_tables();
  is_any_entering.store(false);
  Table::abandon_preparing();
}

} // namespace gmt::interposer::kernel_checks
