// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/launches.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <deque>

#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

namespace {

using Words = std::array<std::uint64_t, sizeof(Launch) / sizeof(std::uint64_t)>;
constexpr std::uint64_t kNone = 0, kIsWritten = ~std::uint64_t{0};

// A reader takes what it has read only if the number was the same before and behind. All of it is
// read and written through `at`.
struct Slot {
  std::uint64_t number; // or kNone, kIsWritten
  Words words;
};
constinit Slot launch_slots[kMostLaunches] = {};
std::atomic_ref<std::uint64_t> at(std::uint64_t& word) noexcept {
  return std::atomic_ref<std::uint64_t>(word);
}
constinit std::atomic<std::uint64_t> newest_number{0}, launches_made{0};
struct Running {
  std::atomic<std::uint64_t> begun{0}, ended{0};
};
constinit std::array<Running, kMostTables> running{}; // by table
constinit std::atomic<std::uint64_t> calls{0};        // that last

struct Nodes {
  std::deque<Launch> all;  // by number, from the first one on
  std::uint64_t first = 1; // numbers go on behind the end of a context
};
constinit Lasting<Nodes> all_nodes;
Nodes& nodes() noexcept { return *all_nodes; }
// With the lock; null: it is not there.
Launch* find_node(std::uint64_t number) noexcept {
  const std::uint64_t index = (number & ~kOfNode) - nodes().first;
  return index < nodes().all.size() ? &nodes().all[index] : nullptr;
}

} // namespace

std::uint64_t count_launch() noexcept {
  return launches_made.fetch_add(1, std::memory_order_acq_rel) + 1;
}

std::uint64_t newest_launch() noexcept { return newest_number.load(std::memory_order_acquire); }

std::uint64_t launch_count() noexcept { return launches_made.load(std::memory_order_acquire); }

void begin_launch(unsigned table) noexcept { running[table].begun.fetch_add(1); }

std::uint64_t begun_launches(unsigned table) noexcept { return running[table].begun.load(); }

LaunchCall::LaunchCall() noexcept { calls.fetch_add(1); }
LaunchCall::~LaunchCall() { calls.fetch_sub(1); }

std::uint64_t given_launches(unsigned table) noexcept {
  const std::uint64_t counted = begun_launches(table); // before it is asked which calls last
  return calls.load() == 0 ? counted : 0;
}

void end_launches(std::uint64_t how_many, unsigned table) noexcept {
  std::atomic<std::uint64_t>& ended = running[table].ended;
  std::uint64_t known = ended.load();
  while (known < how_many && !ended.compare_exchange_weak(known, how_many)) {
  }
}

bool may_run(unsigned table) noexcept {
  return running[table].ended.load() < running[table].begun.load();
}

bool may_any_run() noexcept {
  for (unsigned table = 0; table < kMostTables; ++table) {
    if (may_run(table)) return true;
  }
  return false;
}

std::uint64_t remember_launch(Launch launch) noexcept {
  begin_launch(launch.table);
  launch.number = newest_number.fetch_add(1, std::memory_order_acq_rel) + 1;
  Slot& slot = launch_slots[launch.number % kMostLaunches];
  // A thread that was cut off here while all others were overtaken by a whole round: that one goes
  // on, and this launch is not remembered.
  if (at(slot.number).exchange(kIsWritten, std::memory_order_acq_rel) == kIsWritten)
    return launch.number;
  const auto words = std::bit_cast<Words>(launch);
  for (std::size_t i = 0; i < words.size(); ++i)
    at(slot.words[i]).store(words[i], std::memory_order_release);
  at(slot.number).store(launch.number, std::memory_order_release);
  return launch.number;
}

bool find_launch(std::uint64_t number, Launch* to) noexcept {
  if ((number & kOfNode) != 0) {
    const Locked lock;
    const Launch* node = find_node(number);
    if (node == nullptr || node->number == kNone) return false;
    *to = *node;
    return true;
  }
  Slot& slot = launch_slots[number % kMostLaunches];
  if (number == kNone || at(slot.number).load(std::memory_order_acquire) != number) return false;
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = at(slot.words[i]).load(std::memory_order_acquire);
  if (at(slot.number).load(std::memory_order_relaxed) != number) return false;
  *to = std::bit_cast<Launch>(words);
  return true;
}

std::uint64_t remember_node(Launch launch) noexcept {
  const Locked lock;
  Nodes& known = nodes();
  if (known.all.size() == kMostNodes) return 0;
  launch.number = (known.first + known.all.size()) | kOfNode;
  known.all.push_back(launch);
  return launch.number;
}

bool renew_node(std::uint64_t number, Launch launch) noexcept {
  const Locked lock;
  Launch* node = find_node(number);
  launch.number = number;
  if (node != nullptr) *node = launch;
  return node != nullptr;
}

void forget_launch(std::uint64_t number) noexcept {
  if ((number & kOfNode) != 0) {
    const Locked lock;
    if (Launch* node = find_node(number)) node->number = kNone;
    return;
  }
  at(launch_slots[number % kMostLaunches].number).compare_exchange_strong(number, kNone);
}

namespace {

void forget_slots() noexcept {
  const std::uint64_t most = std::min(newest_number.load(), kMostLaunches - 1);
  for (std::uint64_t i = 0; i <= most; ++i)
    at(launch_slots[i].number).store(kNone, std::memory_order_relaxed);
}

} // namespace

void abandon_launches() noexcept {
  calls.store(0); // of threads that the child does not have
  forget_slots();
  all_nodes.begin_anew();
}

void forget_launches() noexcept {
  forget_slots();
  const Locked lock;
  nodes().first += nodes().all.size();
  nodes().all.clear();
}

} // namespace gmt::interposer::kernel_checks
