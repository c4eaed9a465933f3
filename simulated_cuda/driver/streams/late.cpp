// SPDX-License-Identifier: Apache-2.0
// Kept work stands in one queue, in the order of calls, so each beginning of the queue is closed:
// the thread of the driver's own runs what is due from its front. It is one file because all of it
// reads or changes that queue.
#include "simulated_cuda/driver/streams/late.h"

#include "simulated_cuda/driver/entry.h"
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
  std::unique_ptr<LateBytes> source, destination; // of a copy; of a set the latter
  std::unique_ptr<LateBytes> managed;             // of a launch
  std::function<bool()> is_there;                 // of a wait for a value; else empty
  std::function<void()> action;                   // instead of an operation; else empty
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
  if (kept.managed != nullptr) kept.managed->look_for_kernel();
  kept.managed = nullptr;
  if (kept.action != nullptr) return kept.action();
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    result = execute(*kept.stream, kept.operation, 0);
  } catch (const std::bad_alloc&) {
  }
  if (result != CUDA_SUCCESS && context.sticky == CUDA_SUCCESS) context.sticky = result;
}

bool is_any_wait_kept() {
  return std::ranges::any_of(late_work(),
                             [](const Kept& kept) { return kept.is_there != nullptr; });
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

// Whether nothing kept comes before it, and the value that it waits for is there.
bool can_run(std::size_t at) {
  const std::deque<Kept>& all = late_work();
  const Kept& kept = all[at];
  for (std::size_t i = 0; i < at; ++i) {
    if (all[i].number == kept.behind || wait_for_each_other(*all[i].stream, *kept.stream))
      return false;
  }
  return kept.is_there == nullptr || kept.is_there();
}

// The first of what `may_run` says by its place; false: none of it can run.
template <class MayRun>
bool run_one(MayRun may_run) {
  std::deque<Kept>& all = late_work();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!may_run(i) || !can_run(i)) continue;
    Kept kept = std::move(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    run_kept(std::move(kept));
    return true;
  }
  return false;
}

// A value does not come: the work behind it ends as a kernel does that never ends.
void give_up() {
  not_simulated("a wait for a value that did not come");
  for (const Kept& kept : late_work()) {
    CUresult& sticky = kept.stream->context->sticky;
    if (kept.is_there != nullptr && sticky == CUDA_SUCCESS) sticky = CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  std::erase_if(late_work(), [](const Kept& kept) {
    return kept.stream->context->sticky == CUDA_ERROR_LAUNCH_TIMEOUT;
  });
}

// What is_wanted says, and what that waits for, by its place.
template <class Wanted>
std::vector<bool> all_before(Wanted is_wanted, bool* any) {
  const std::deque<Kept>& all = late_work();
  std::vector<bool> runs(all.size());
  std::vector<const Stream*> streams; // of what runs and is later
  std::vector<std::uint64_t> records; // that it waits for
  *any = false;
  for (std::size_t i = all.size(); i-- != 0;) {
    const Kept& kept = all[i];
    const auto waits = [&](const Stream* later) {
      return wait_for_each_other(*kept.stream, *later);
    };
    if (!is_wanted(kept) && !std::ranges::any_of(streams, waits) &&
        std::ranges::find(records, kept.number) == records.end())
      continue;
    runs[i] = *any = true;
    if (std::ranges::find(streams, kept.stream) == streams.end()) streams.push_back(kept.stream);
    if (kept.behind != 0) records.push_back(kept.behind);
  }
  return runs;
}

// The same without sleeping, where nothing waits for a value.
void run_chosen(const std::vector<bool>& runs) {
  std::deque<Kept>& all = late_work();
  std::deque<Kept> now, later;
  for (std::size_t i = 0; i < all.size(); ++i) (runs[i] ? now : later).push_back(std::move(all[i]));
  all = std::move(later);
  for (Kept& kept : now) run_kept(std::move(kept));
}

template <class Wanted>
void run_wanted(Wanted is_wanted) {
  const Clock::time_point begin = Clock::now();
  for (bool any = false;;) {
    const std::vector<bool> runs = all_before(is_wanted, &any);
    if (!any) return;
    if (!is_any_wait_kept()) return run_chosen(runs);
    if (run_one([&](std::size_t i) { return runs[i]; })) continue;
    const double limit = state().settings.kernel_seconds;
    if (limit > 0 && Clock::now() - begin > std::chrono::duration<double>(limit)) return give_up();
    DriverLock::wait_a_moment();
  }
}

void* run_what_is_due(void*) {
  for (;;) {
    Clock::time_point next;
    {
      DriverLock lock;
      while (late_work().empty()) DriverLock::wait();
      while (is_any_wait_kept()) {
        const auto is_due = [](std::size_t i) { return late_work()[i].due <= Clock::now(); };
        if (!run_one(is_due)) DriverLock::wait_a_moment();
      }
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
  run_all_late(false);
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
       {"cuStreamDestroy", "cuCtxSynchronize", "cuCtxDestroy", "cuDevicePrimaryCtxReset",
        "cuDevicePrimaryCtxRelease", "cuMemFree", "cuMemFreeHost", "cuMemHostUnregister",
        "cuMemUnmap", "cuArrayDestroy", "cuModuleUnload", "cuLibraryUnload", "cuMemPoolDestroy",
        "cuGreenCtxDestroy", "cuCtxSynchronize_v2"}) {
    if (name == known) return Timing::kEnds;
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
  return timing == Timing::kKeeps && (state().settings.late_seconds > 0 || is_any_wait_kept()) &&
         !any_host_function_pending();
}

bool may_keep(Timing timing, const Stream& stream) {
  return may_keep(timing) && (state().settings.late_seconds > 0 || is_held(stream));
}

std::uint64_t keep(Stream& stream, Operation operation, std::uint64_t behind) {
  static std::uint64_t last = 0;
  start_late_thread_once();
  if (late_work().size() == kMostKept) {
    if (is_any_wait_kept()) run_all_late();
    else run_first();
  }
  const auto lateness = std::chrono::duration_cast<Clock::duration>(
    std::chrono::duration<double>(state().settings.late_seconds));
  std::unique_ptr<LateBytes> source, destination, managed;
  // What stands behind a wait for a value of the host may be written until that is there
  const bool waits_for_host = is_any_wait_kept();
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(&operation); copy && !waits_for_host) {
    source = LateBytes::keep(source_rows(*copy));
    destination = LateBytes::keep(destination_rows(*copy));
  } else if (const auto* set = std::get_if<CUDA_MEMSET_NODE_PARAMS>(&operation);
             set && !waits_for_host) {
    destination = LateBytes::keep(set_rows(*set));
  } else if (const auto* kernel = std::get_if<KernelOperation>(&operation);
             kernel && !waits_for_host) {
    managed = LateBytes::keep(managed_rows(*kernel));
  }
  late_work().push_back({++last,
                         behind,
                         &stream,
                         this_thread().current(),
                         observed_call(),
                         is_in_chosen_range(),
                         Clock::now() + lateness,
                         std::move(operation),
                         std::move(source),
                         std::move(destination),
                         std::move(managed),
                         {},
                         {}});
  DriverLock::notify_all();
  return last;
}

void hold(Stream& stream, std::function<bool()> is_there) {
  keep(stream, EmptyOperation{});
  late_work().back().is_there = std::move(is_there);
}

bool is_held(const Stream& stream) {
  return is_any_wait_kept() && std::ranges::any_of(late_work(), [&](const Kept& kept) {
           return wait_for_each_other(*kept.stream, stream);
         });
}

void keep_action(Stream& stream, std::function<void()> action) {
  keep(stream, EmptyOperation{});
  late_work().back().action = std::move(action);
}

void run_what_can_run() {
  while (run_one([](std::size_t) { return true; })) {
  }
}

bool is_any_late_of(const Stream& stream) {
  return std::ranges::any_of(late_work(), [&](const Kept& kept) { return kept.stream == &stream; });
}

void run_all_late(bool waits_for_values) {
  if (!is_any_wait_kept()) {
    while (!late_work().empty()) run_first();
  } else if (waits_for_values) {
    run_wanted([](const Kept&) { return true; });
  } else {
    run_what_can_run();
  }
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
  const Context* context = this_thread().current();
  return context == nullptr ? CUDA_SUCCESS : context->sticky;
}

} // namespace gmt::sim
