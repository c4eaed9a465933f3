// SPDX-License-Identifier: Apache-2.0
// See totals.h. A process may end without a word, so the observer hears of the first launches, and
// then each time that their number has doubled or a second has passed.
#include "execution/totals.h"

#include "state/lock.h"
#include "state/observer.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace gmt::sim {
namespace {

using Clock = std::chrono::steady_clock;

struct Feature {
  std::uint64_t launches = 0, instructions = 0;
};

struct Totals {
  std::uint64_t launches = 0, ran = 0, skipped = 0, stopped = 0, instructions = 0;
  std::uint64_t seed = 0, threads = 0;
  double seconds = 0;
  std::map<std::string, Feature> inexact;
  Clock::time_point said{};
  bool changed = false;
};

Totals& totals() {
  static auto* const instance = new Totals;
  return *instance;
}

void say(Totals& t) {
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->totals == nullptr || !t.changed) return;
  std::vector<trace::ExecutionFidelity> rows;
  for (const auto& [feature, counts] : t.inexact)
    rows.push_back(
      {sizeof(trace::ExecutionFidelity), 0, feature.c_str(), counts.instructions, counts.launches});
  trace::ExecutionTotals all{};
  all.size = sizeof all;
  all.row_count = static_cast<std::uint32_t>(rows.size());
  all.launches = t.launches;
  all.ran = t.ran;
  all.skipped = t.skipped;
  all.stopped = t.stopped;
  all.thread_instructions = t.instructions;
  all.nanoseconds = static_cast<std::uint64_t>(t.seconds * 1e9);
  all.rows = rows.data();
  all.seed = t.seed;
  all.threads = t.threads;
  observer->totals(&all);
  t.changed = false;
  t.said = Clock::now();
}

__attribute__((destructor)) void say_at_end() {
  if (DriverLock::in_forked_child()) return;
  say(totals());
}

} // namespace

void add_to_totals(const executor::Outcome& outcome, double seconds) {
  Totals& t = totals();
  ++t.launches;
  t.changed = true;
  switch (outcome.end) {
  case executor::End::kDone:
  case executor::End::kFault: ++t.ran; break;
  case executor::End::kSkipped: ++t.skipped; break;
  case executor::End::kStopped: ++t.stopped; break;
  }
  t.instructions += outcome.thread_instructions;
  t.seconds += seconds;
  for (const executor::Inexact& each : outcome.inexact) {
    Feature& feature = t.inexact[each.feature];
    ++feature.launches;
    feature.instructions += each.thread_instructions;
  }
  const bool doubled = (t.launches & (t.launches - 1)) == 0;
  if (doubled || Clock::now() - t.said > std::chrono::seconds(1)) say(t);
}

void set_order(std::uint64_t seed, unsigned threads) {
  totals().seed = seed;
  totals().threads = threads;
}

void say_totals() { say(totals()); }

double seconds_in_kernels() { return totals().seconds; }

} // namespace gmt::sim
