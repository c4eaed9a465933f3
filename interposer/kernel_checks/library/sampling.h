// SPDX-License-Identifier: Apache-2.0
// --kernel-checks-sample: as many launches get the checked form as cost under 2 % of the time since
// the first one. What launches take is measured on the device, by an event on each side. The least
// seen kernels come first.
//
// Invariants: nothing waits for the device. A launch that was not measured yet keeps its kernel's
// next ones plain.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace gmt::interposer::kernel_checks {

struct Kernel;

bool is_sampling() noexcept;
// Whether this launch of the kernel shall be checked. Counts it. Not before a plain one was
// measured: what the checks may cost is known then.
bool is_sampled(const Kernel& kernel) noexcept;
// Whether this launch, which is plain, is to be measured for that.
bool wants_measure(const Kernel& kernel) noexcept;

// Measures what is launched into the stream while it lives; nothing without sampling.
class MeasuredLaunch {
public:
  MeasuredLaunch(const Kernel& kernel, CUstream stream, bool is_plain) noexcept;
  ~MeasuredLaunch();
  MeasuredLaunch(const MeasuredLaunch&) = delete;
  MeasuredLaunch& operator=(const MeasuredLaunch&) = delete;

private:
  const Kernel* kernel_ = nullptr; // null: nothing is measured
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr;
  unsigned table_ = 0; // of the context
  bool is_plain_;
};

// The context has ended, with its events; or this is a forked child.
void forget_samples() noexcept;

using SampleClock = std::uint64_t (*)() noexcept; // nanoseconds
void set_sample_clock(SampleClock clock) noexcept;

} // namespace gmt::interposer::kernel_checks
