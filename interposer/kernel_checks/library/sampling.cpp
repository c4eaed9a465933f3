// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/sampling.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/tables.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The slowest kernel that was measured took 2.57 times its own time with checks.
constexpr double kOfPlain = 1.57, kShareOfChecks = 0.61;
constexpr double kMostOfRun = 0.02;
constexpr std::uint64_t kAtFirst = 5'000'000; // nanoseconds, so that short runs see something
constexpr std::uint64_t kOfTheHost = 10'000;  // events and the look at them
constexpr std::uint64_t kOnce = 1, kMostTimesOfOne = 16;
constexpr std::uint64_t kBetweenLooks = 1'000'000; // a look costs as much as a launch or two
constexpr int kMostOfLook = 16;                    // launches

std::uint64_t now() noexcept {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
    std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}
constinit std::atomic<SampleClock> clock_of_host{&now};
constinit std::atomic<std::uint64_t> began{0}, spent{0}, next_look{0}; // nanoseconds
constinit std::atomic<std::size_t> waiting{0};

struct Measured {
  const Kernel* kernel;
  CUevent begin, end;
  unsigned table; // of their context
  bool is_plain;
};
struct Samples {
  std::deque<Measured> pending;                       // oldest first
  std::array<std::vector<CUevent>, kMostTables> free; // by table
};
constinit Lasting<Samples> samples;

CUevent take_event(unsigned table) noexcept {
  {
    const Locked lock;
    std::vector<CUevent>& free = (*samples).free[table];
    if (!free.empty()) {
      const CUevent event = free.back();
      free.pop_back();
      return event;
    }
  }
  CUevent event = nullptr;
  return driver.make_event(&event, CU_EVENT_DEFAULT) == 0 ? event : nullptr;
}

// Takes what the oldest launch cost, if it has ended; else it is the newest from now on.
bool settle_oldest() noexcept {
  Measured oldest{};
  {
    const Locked lock;
    if ((*samples).pending.empty()) return false;
    oldest = (*samples).pending.front();
    (*samples).pending.pop_front();
  }
  const int state = driver.is_event_pending(oldest.end);
  float milliseconds = 0;
  if (state == 0) driver.time_between(&milliseconds, oldest.begin, oldest.end);
  const Locked lock;
  if (state == CUDA_ERROR_NOT_READY) {
    (*samples).pending.push_back(oldest);
    return false;
  }
  const double share = oldest.is_plain ? kOfPlain : kShareOfChecks;
  const auto of_checks = static_cast<std::uint64_t>(milliseconds * 1e6 * share);
  const std::uint64_t cost = of_checks + kOfTheHost;
  spent.fetch_add(oldest.is_plain ? kOfTheHost : cost);
  oldest.kernel->sample_cost.store(cost);
  oldest.kernel->is_measured_now.store(false);
  (*samples).free[oldest.table].push_back(oldest.begin);
  (*samples).free[oldest.table].push_back(oldest.end);
  return true;
}

// What a look takes counts, too.
void look_at_pending(std::uint64_t time) noexcept {
  if (waiting.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t look = next_look.load(std::memory_order_relaxed);
  if (time < look || !next_look.compare_exchange_strong(look, time + kBetweenLooks)) return;
  const Relaxed relaxed;
  for (int i = 0; i < kMostOfLook && settle_oldest(); ++i) {
  }
  {
    const Locked lock;
    waiting.store((*samples).pending.size());
  }
  spent.fetch_add(clock_of_host.load()() - time);
}

// With each launch that was checked, a kernel waits for more of the time to be left.
bool is_affordable(const Kernel& kernel, std::uint64_t time) noexcept {
  std::uint64_t first = 0;
  if (began.compare_exchange_strong(first, time)) first = time;
  const auto allowed =
    kAtFirst + static_cast<std::uint64_t>(static_cast<double>(time - first) * kMostOfRun);
  const std::uint64_t times = std::clamp(kernel.launches.load(), kOnce, kMostTimesOfOne);
  return spent.load() + kernel.sample_cost.load() * times <= allowed;
}

} // namespace

bool is_sampling() noexcept { return core->settings.samples; }

bool is_sampled(const Kernel& kernel) noexcept {
  kernel.offered.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t time = clock_of_host.load()();
  look_at_pending(time);
  return kernel.sample_cost.load() != 0 && is_affordable(kernel, time) &&
         !kernel.is_measured_now.exchange(true);
}

bool wants_measure(const Kernel& kernel) noexcept {
  return kernel.sample_cost.load() == 0 && !kernel.is_measured_now.exchange(true);
}

MeasuredLaunch::MeasuredLaunch(const Kernel& kernel, CUstream stream, bool is_plain) noexcept
    : is_plain_(is_plain) {
  if (!is_sampling()) return;
  const Relaxed relaxed;
  stream_ = stream;
  table_ = table().index();
  begin_ = take_event(table_);
  if (begin_ != nullptr && driver.record_event(begin_, stream) == 0) {
    kernel_ = &kernel;
    return;
  }
  kernel.is_measured_now.store(false);
  const Locked lock;
  if (begin_ != nullptr) (*samples).free[table_].push_back(begin_);
}

MeasuredLaunch::~MeasuredLaunch() {
  if (kernel_ == nullptr) return;
  const Relaxed relaxed;
  const CUevent end = take_event(table_);
  const bool is_recorded = end != nullptr && driver.record_event(end, stream_) == 0;
  const Locked lock;
  if (is_recorded) {
    (*samples).pending.push_back({kernel_, begin_, end, table_, is_plain_});
    waiting.store((*samples).pending.size());
    return;
  }
  (*samples).free[table_].push_back(begin_);
  if (end != nullptr) (*samples).free[table_].push_back(end);
  kernel_->is_measured_now.store(false);
}

void forget_samples() noexcept {
  samples.begin_anew();
  for (std::atomic<std::uint64_t>* time : {&began, &spent, &next_look}) time->store(0);
  waiting.store(0);
}

void set_sample_clock(SampleClock clock) noexcept { clock_of_host.store(clock); }

} // namespace gmt::interposer::kernel_checks
