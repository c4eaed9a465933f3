// SPDX-License-Identifier: Apache-2.0
// Each context has a stream of the highest priority and 4 bytes of pinned memory. One thread at a
// time uses them; another one waits with it, since its call may stand behind the same kernel.
#include "interposer/core_dump/device_probe.h"

#include <cuda.h>

#include <atomic>

#include "interposer/base/bounded_lock.h"
#include "interposer/base/signal_guard.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr int kLongestWait = 2000;           // milliseconds
constexpr std::uint64_t kBusyWait = 100'000; // nanoseconds: a set takes some 10 us
constexpr unsigned kMostProbes = 64;

constinit DriverFunction<CUcontext, unsigned long long*> context_id{"cuCtxGetId"};
constinit DriverFunction<CUstreamCaptureMode*> exchange_mode{"cuThreadExchangeStreamCaptureMode"};
constinit DriverFunction<int*, int*> priorities{"cuCtxGetStreamPriorityRange"};
constinit DriverFunction<CUstream*, unsigned, int> make_stream{"cuStreamCreateWithPriority"};
constinit DriverFunction<CUstream> is_idle{"cuStreamQuery"};
constinit DriverFunction<void**, std::size_t, unsigned> host_memory{"cuMemHostAlloc"};
constinit DriverFunction<CUdeviceptr*, void*, unsigned> device_address{
  "cuMemHostGetDevicePointer_v2"};
constinit DriverFunction<CUdeviceptr, unsigned char, std::size_t, CUstream> set{"cuMemsetD8Async"};

struct Probe {
  std::atomic<std::uint64_t> owner; // the context's id and 1: an id never comes back, as a handle
                                    // may
  std::atomic<bool> taken;
  CUstream stream;
  CUdeviceptr word;
  bool failed, pending;
};
constinit Probe probes[kMostProbes] = {};

// A capture of the program's is not ended by what happens here.
class RelaxedCapture {
public:
  RelaxedCapture() noexcept { exchange_mode(&mode_); }
  ~RelaxedCapture() { exchange_mode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

Probe* probe_of_current() noexcept {
  unsigned long long id = 0;
  if (context_id(nullptr, &id) != 0) return nullptr; // no context is current
  for (Probe& probe : probes) {
    std::uint64_t owner = 0;
    if (probe.owner.load() == id + 1) return &probe;
    if (probe.owner.compare_exchange_strong(owner, id + 1)) return &probe;
  }
  return nullptr;
}

bool make(Probe& probe) noexcept {
  if (probe.word != 0) return true;
  if (probe.failed) return false;
  int least = 0, greatest = 0;
  void* memory = nullptr;
  priorities(&least, &greatest);
  probe.failed = make_stream(&probe.stream, CU_STREAM_NON_BLOCKING, greatest) != 0 ||
                 host_memory(&memory, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP) != 0 ||
                 device_address(&probe.word, memory, 0) != 0;
  return !probe.failed;
}

// Whether the GPU was asked.
bool run(Probe& probe) noexcept {
  if (!make(probe)) return false;
  if (probe.pending) {
    probe.pending = is_idle(probe.stream) == CUDA_ERROR_NOT_READY;
    if (probe.pending) return true;
  }
  if (set(probe.word, 0, sizeof(unsigned), probe.stream) != 0) return false;
  const std::uint64_t begin = monotonic_ns();
  while (is_idle(probe.stream) == CUDA_ERROR_NOT_READY) {
    const std::uint64_t waited = monotonic_ns() - begin;
    probe.pending = waited > std::uint64_t{kLongestWait} * 1'000'000;
    if (probe.pending) return true;
    if (waited > kBusyWait) wait_a_little();
  }
  return true;
}

} // namespace

bool wait_for_device_probe() noexcept {
  const SignalGuard signals;
  Probe* probe = probe_of_current();
  if (probe == nullptr) return false;
  const RelaxedCapture relaxed;
  const BoundedLock lock(probe->taken, kLongestWait);
  return lock.held() && run(*probe);
}

void forget_device_probes() noexcept {
  for (Probe& probe : probes) {
    probe.taken.store(false);
    probe.stream = nullptr;
    probe.word = 0;
    probe.failed = probe.pending = false;
    probe.owner.store(0);
  }
}

} // namespace gmt::interposer
