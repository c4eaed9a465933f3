// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/state/observer.h"

#include "simulated_cuda/driver/state/state.h"

#include <atomic>
#include <cstddef>

namespace gmt::sim {
namespace {

std::atomic<const trace::ExecutionObserver*> observer{nullptr};

} // namespace

const trace::ExecutionObserver* execution_observer() {
  return observer.load(std::memory_order_acquire);
}

std::uint64_t observed_call() {
  if (this_thread().runs_late) return this_thread().late_call;
  const trace::ExecutionObserver* asked = execution_observer();
  return asked != nullptr && asked->call_in_progress != nullptr ? asked->call_in_progress() : 0;
}

void observe_refusal(const char* function, const char* what) {
  const trace::ExecutionObserver* watching = execution_observer();
  if (watching == nullptr || watching->refused == nullptr) return;
  const trace::ExecutionRefusal refusal{sizeof(trace::ExecutionRefusal), 0, function, what};
  watching->refused(&refusal);
}

} // namespace gmt::sim

// Of a library beside this one: a call that it does not implement.
extern "C" [[gnu::visibility("default")]] void gpumemtrace_refuse_call(const char* function) {
  gmt::sim::observe_refusal(function, nullptr);
}

// A table of another version, or one that ends before the first version's last function, is not
// taken.
extern "C" [[gnu::visibility("default")]] std::uint32_t
gpumemtrace_observe_execution(const gmt::trace::ExecutionObserver* table) {
  using gmt::trace::ExecutionObserver;
  constexpr std::size_t kFirst = offsetof(ExecutionObserver, unwritten_copy); // what it had at
                                                                              // first
  const bool fits =
    table == nullptr || (table->version == gmt::trace::kExecutionVersion && table->size >= kFirst);
  if (fits) gmt::sim::observer.store(table, std::memory_order_release);
  return gmt::trace::kExecutionVersion;
}
