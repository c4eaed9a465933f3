// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/unwritten_copy.h"

#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/state/state.h"

#include <cstddef>
#include <cstdint>

namespace gmt::sim {

bool is_host_memory(CUdeviceptr address) {
  const Block* block = state().blocks.containing(address);
  return block == nullptr || !block->device_only();
}

void report_unwritten(const executor::UnwrittenBytes& source, CUdeviceptr from, bool to_host) {
  using Form = executor::UnwrittenBytes::Form;
  const trace::ExecutionObserver* observer = execution_observer();
  constexpr std::size_t kNeeded =
    offsetof(trace::ExecutionObserver, unwritten_copy) + sizeof observer->unwritten_copy;
  if (observer == nullptr || observer->size < kNeeded || observer->unwritten_copy == nullptr)
    return;
  const Block* block = state().blocks.containing(from);
  if (block == nullptr) return;
  trace::ExecutionCopy copy{};
  switch (source.form(block->base + block->size)) {
  case Form::kNone:
  case Form::kGaps: return;
  case Form::kWhole: copy.form = trace::ExecutionUnwritten::kWhole; break;
  case Form::kPart: copy.form = trace::ExecutionUnwritten::kPart; break;
  case Form::kTail: copy.form = trace::ExecutionUnwritten::kTail; break;
  }
  copy.size = sizeof copy;
  copy.call = observed_call();
  copy.context = reinterpret_cast<std::uint64_t>(this_thread().current());
  copy.address = source.first();
  copy.bytes = source.read();
  copy.missing = source.missing();
  copy.to_host = to_host ? 1 : 0;
  observer->unwritten_copy(&copy);
}

} // namespace gmt::sim
