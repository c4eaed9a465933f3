// SPDX-License-Identifier: Apache-2.0
// Kept work stands in one queue, in the order of calls, so each beginning of the queue is closed:
// the thread of the driver's own runs what is due from its front.
#include "simulated_cuda/driver/streams/late.h"

#include "simulated_cuda/driver/execution/choice.h"
#include "simulated_cuda/driver/state/lock.h"
#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/streams/late_bytes.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gmt::sim {
namespace {

using Clock = std::chrono::steady_clock;

// Work of a program that never waits: older work then runs.
constexpr std::size_t kMostKept = 4096;

struct Kept {
  std::uint64_t number;
  std::uint64_t behind; // the number of the event record that it waits for, or 0
  Stream* stream;
  Context* context; // that was current at the call
  std::uint64_t call;
  bool is_in_range; // see is_in_chosen_range()
  Clock::time_point due;
  Operation operation;
  std::unique_ptr<LateBytes> source, destination; // of a copy
};

std::deque<Kept>& late_work() {
  static auto* const kept = new std::deque<Kept>;
  return *kept;
}

// The calling thread stands for the one that made the call.
class AsItsCaller {
public:
  explicit AsItsCaller(const Kept& kept)
      : thread_(this_thread()), context_(thread_.contexts[0]), depth_(thread_.depth) {
    thread_.contexts[0] = kept.context;
    thread_.depth = 1;
    thread_.late_call = kept.call;
    thread_.late_in_range = kept.is_in_range;
    thread_.runs_late = true;
  }
  ~AsItsCaller() {
    thread_.contexts[0] = context_;
    thread_.depth = depth_;
    thread_.runs_late = false;
  }
  AsItsCaller(const AsItsCaller&) = delete;
  AsItsCaller& operator=(const AsItsCaller&) = delete;

private:
  ThreadState& thread_;
  Context* context_;
  int depth_;
};

void run_kept(Kept kept) {
  Context& context = *kept.stream->context;
  if (!context.alive || context.sticky != CUDA_SUCCESS) return; // a dead context does nothing more
  const AsItsCaller as_caller(kept);
  for (std::unique_ptr<LateBytes>* side : {&kept.source, &kept.destination}) {
    if (*side != nullptr) (*side)->look();
    *side = nullptr;
  }
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    result = execute(*kept.stream, kept.operation, 0);
  } catch (const std::bad_alloc&) {
  }
  if (result != CUDA_SUCCESS && context.sticky == CUDA_SUCCESS) context.sticky = result;
}

void run_first() {
  Kept front = std::move(late_work().front());
  late_work().pop_front();
  run_kept(std::move(front));
}

bool waits_for_legacy(const Stream& stream) { return (stream.flags & CU_STREAM_NON_BLOCKING) == 0; }

// Whether work of the one stream waits for earlier work of the other.
bool wait_for_each_other(const Stream& one, const Stream& other) {
  if (&one == &other) return true;
  return one.context == other.context && (one.is_legacy || other.is_legacy) &&
         waits_for_legacy(one) && waits_for_legacy(other);
}

// Runs what is_wanted says, and what that waits for.
template <class Wanted>
void run_wanted(Wanted is_wanted) {
  std::deque<Kept>& all = late_work();
  std::vector<bool> runs(all.size());
  std::vector<const Stream*> streams; // of what runs and is later
  std::vector<std::uint64_t> records; // that it waits for
  bool any = false;
  for (std::size_t i = all.size(); i-- != 0;) {
    const Kept& kept = all[i];
    const auto waits = [&](const Stream* later) {
      return wait_for_each_other(*kept.stream, *later);
    };
    if (!is_wanted(kept) && !std::ranges::any_of(streams, waits) &&
        std::ranges::find(records, kept.number) == records.end())
      continue;
    runs[i] = any = true;
    if (std::ranges::find(streams, kept.stream) == streams.end()) streams.push_back(kept.stream);
    if (kept.behind != 0) records.push_back(kept.behind);
  }
  if (!any) return;
  std::deque<Kept> now, later;
  for (std::size_t i = 0; i < all.size(); ++i) (runs[i] ? now : later).push_back(std::move(all[i]));
  all = std::move(later);
  for (Kept& kept : now) run_kept(std::move(kept));
}

void* run_what_is_due(void*) {
  for (;;) {
    Clock::time_point next;
    {
      DriverLock lock;
      while (late_work().empty()) DriverLock::wait();
      while (!late_work().empty() && late_work().front().due <= Clock::now()) run_first();
      if (late_work().empty()) continue;
      next = late_work().front().due;
    }
    std::this_thread::sleep_until(next);
  }
  return nullptr;
}

// A process that ends runs what is kept: mistakes in it are found, as without --late.
void run_at_exit() {
  if (DriverLock::in_forked_child() || this_thread().in_host_function) return;
  DriverLock lock;
  run_all_late();
}

void start_late_thread_once() {
  static const bool is_started = [] {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, run_what_is_due, nullptr) != 0)
      std::abort(); // signals are blocked here: inherited
    pthread_detach(thread);
    std::atexit(run_at_exit);
    return true;
  }();
  (void)is_started;
}

} // namespace

Timing timing_of(const char* base) {
  const std::string_view name = base;
  if (name.find("Batch") != name.npos) return Timing::kRunsAll;
  if (name.starts_with("cuMemcpy") || name.starts_with("cuMemset"))
    return name.ends_with("Async") ? Timing::kKeeps : Timing::kOrders;
  for (const std::string_view known :
       {"cuLaunchKernel", "cuLaunchKernelEx", "cuEventRecord", "cuLaunchCooperativeKernel",
        "cuEventRecordWithFlags", "cuStreamWaitEvent"}) {
    if (name == known) return Timing::kKeeps;
  }
  for (const std::string_view known :
       {"cuStreamSynchronize", "cuStreamQuery", "cuEventSynchronize", "cuEventQuery"}) {
    if (name == known) return Timing::kOrders;
  }
  for (const std::string_view known :
       {"cuInit", "cuStreamCreate", "cuStreamCreateWithPriority", "cuEventCreate", "cuFuncIsLoaded",
        "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode", "cuCtxSetCurrent",
        "cuCtxPushCurrent", "cuCtxPopCurrent", "cuDeviceCanAccessPeer", "cuLibraryLoadData"}) {
    if (name == known) return Timing::kLooks;
  }
  const bool looks = name.find("Get") != name.npos || name.starts_with("cuOccupancy");
  return looks ? Timing::kLooks : Timing::kRunsAll;
}

bool may_keep(Timing timing) {
  return timing == Timing::kKeeps && state().settings.late_seconds > 0 &&
         !any_host_function_pending();
}

std::uint64_t keep(Stream& stream, Operation operation, std::uint64_t behind) {
  static std::uint64_t last = 0;
  start_late_thread_once();
  if (late_work().size() == kMostKept) run_first();
  const auto lateness = std::chrono::duration_cast<Clock::duration>(
    std::chrono::duration<double>(state().settings.late_seconds));
  std::unique_ptr<LateBytes> source, destination;
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation)) {
    source = LateBytes::keep(source_rows(*copy));
    destination = LateBytes::keep(destination_rows(*copy));
  }
  late_work().push_back({++last, behind, &stream, this_thread().current(), observed_call(),
                         is_in_chosen_range(), Clock::now() + lateness, std::move(operation),
                         std::move(source), std::move(destination)});
  DriverLock::notify_all();
  return last;
}

void run_all_late() {
  while (!late_work().empty()) run_first();
}

void run_late_before(const Stream& stream) {
  if (late_work().empty()) return; // before what follows takes its part of a small stack
  run_wanted([&](const Kept& kept) { return wait_for_each_other(*kept.stream, stream); });
}

void run_late_of(const Stream& stream) {
  run_wanted([&](const Kept& kept) { return kept.stream == &stream; });
}

void run_late_until(std::uint64_t number) {
  run_wanted([&](const Kept& kept) { return kept.number == number; });
}

bool is_late(std::uint64_t number) {
  return std::ranges::any_of(late_work(), [&](const Kept& kept) { return kept.number == number; });
}

CUresult answer_after_late() {
  if (state().settings.late_seconds == 0) return CUDA_SUCCESS;
  const Context* context = this_thread().current();
  return context == nullptr ? CUDA_SUCCESS : context->sticky;
}

} // namespace gmt::sim
