// SPDX-License-Identifier: Apache-2.0
// A process may end without a word, so the observer hears of each launch as soon as it has ended.
#include "simulated_cuda/driver/execution/totals.h"

#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/state.h"

#include <map>
#include <string>
#include <vector>

namespace gmt::sim {
namespace {

struct Totals {
  std::uint64_t launches = 0, ran = 0, skipped = 0, stopped = 0, instructions = 0;
  std::uint64_t seed = 0, threads = 0;
  double seconds = 0;
  // The observer knows a feature by its number, so rows keep their places.
  std::vector<trace::ExecutionFidelity> rows;
  std::map<std::string, std::size_t> row_of;
};

Totals& totals() {
  static auto* const instance = new Totals;
  return *instance;
}

trace::ExecutionFidelity& row_of(Totals& t, const std::string& feature) {
  const auto [at, is_new] = t.row_of.try_emplace(feature, t.rows.size());
  if (is_new) t.rows.push_back({sizeof(trace::ExecutionFidelity), 0, at->first.c_str(), 0, 0});
  return t.rows[at->second];
}

void say(const Totals& t) {
  const trace::ExecutionObserver* observer = execution_observer();
  if (observer == nullptr || observer->totals == nullptr || t.launches == 0) return;
  trace::ExecutionTotals all{};
  all.size = sizeof all;
  all.row_count = static_cast<std::uint32_t>(t.rows.size());
  all.launches = t.launches;
  all.ran = t.ran;
  all.skipped = t.skipped;
  all.stopped = t.stopped;
  all.thread_instructions = t.instructions;
  all.nanoseconds = static_cast<std::uint64_t>(t.seconds * 1e9);
  all.rows = t.rows.data();
  all.seed = t.seed;
  all.threads = t.threads;
  all.late = static_cast<std::uint64_t>(state().settings.late_seconds * 1e9);
  observer->totals(&all);
}

} // namespace

void add_to_totals(const executor::Outcome& outcome, double seconds) {
  Totals& t = totals();
  ++t.launches;
  switch (outcome.end) {
  case executor::End::kDone:
  case executor::End::kFault: ++t.ran; break;
  case executor::End::kSkipped: ++t.skipped; break;
  case executor::End::kStopped: ++t.stopped; break;
  }
  t.instructions += outcome.thread_instructions;
  t.seconds += seconds;
  for (const executor::Inexact& each : outcome.inexact) {
    trace::ExecutionFidelity& row = row_of(t, each.feature);
    ++row.launches;
    row.instructions += each.thread_instructions;
  }
  say(t);
}

void set_order(std::uint64_t seed, unsigned threads) {
  totals().seed = seed;
  totals().threads = threads;
}

double seconds_in_kernels() { return totals().seconds; }

} // namespace gmt::sim
