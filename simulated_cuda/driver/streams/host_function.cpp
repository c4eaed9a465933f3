// SPDX-License-Identifier: Apache-2.0
// Host functions and stream callbacks. They run in order on one thread of the driver's own, as on a
// real device, so a program that holds a lock while it launches one does not deadlock; CUDA calls
// from inside them answer 800. Work that follows on the same stream waits for them. Invariant: the
// thread takes the driver lock only between functions, never during one; all signals are blocked in
// it.
#include "simulated_cuda/driver/state/lock.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <cstdint>
#include <cstdlib>
#include <deque>

namespace gmt::sim {
namespace {

struct Job {
  Stream* stream;
  CUhostFn function;
  CUstreamCallback callback;
  CUresult status;
  void* argument;
};

std::deque<Job>& queue() {
  static auto* const jobs = new std::deque<Job>;
  return *jobs;
}

std::uint64_t& total_pending() {
  static std::uint64_t count = 0;
  return count;
}

void run_outside_lock(const Job& job) {
  if (job.function != nullptr) {
    job.function(job.argument);
  } else {
    job.callback(reinterpret_cast<CUstream>(job.stream), job.status, job.argument);
  }
}

void* work(void*) {
  this_thread().in_host_function = true;
  for (;;) {
    Job job;
    {
      DriverLock lock;
      while (queue().empty()) DriverLock::wait();
      job = queue().front();
      queue().pop_front();
    }
    run_outside_lock(job);
    {
      DriverLock lock;
      --total_pending();
      if (job.stream != nullptr)
        --job.stream->pending_host_functions; // the stream waits for this before it ends
      DriverLock::notify_all();
    }
  }
  return nullptr;
}

void start_worker_once() {
  static const bool started = [] {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, nullptr) != 0)
      std::abort(); // signals are blocked here: inherited
    pthread_detach(thread);
    return true;
  }();
  (void)started;
}

void post(Job job) {
  start_worker_once();
  ++total_pending();
  if (job.stream != nullptr) ++job.stream->pending_host_functions;
  queue().push_back(job);
  DriverLock::notify_all();
}

// Legacy and blocking streams wait for each other, non-blocking ones only for themselves.
bool must_wait(const Stream& stream) {
  if (stream.pending_host_functions != 0) return true;
  if ((stream.flags & CU_STREAM_NON_BLOCKING) != 0) return false;
  const auto pending_blocking = [&](const Stream* other) {
    return other != nullptr && other->context == stream.context &&
           other->pending_host_functions != 0 && (other->flags & CU_STREAM_NON_BLOCKING) == 0;
  };
  if (!stream.is_legacy) return pending_blocking(stream.context->legacy.get());
  bool found = false;
  state().streams.for_each([&](const Stream& other) { found = found || pending_blocking(&other); });
  for (const auto& entry : stream.context->per_thread)
    found = found || pending_blocking(entry.second.get());
  return found;
}

} // namespace

void post_host_function(Stream* stream, CUhostFn function, void* argument) {
  post({stream, function, nullptr, CUDA_SUCCESS, argument});
}

void post_stream_callback(Stream* stream, CUstreamCallback callback, void* argument) {
  post({stream, nullptr, callback, CUDA_SUCCESS, argument});
}

bool host_functions_pending(const Stream& stream) {
  return total_pending() != 0 && must_wait(stream);
}

bool any_host_function_pending() { return total_pending() != 0; }

void wait_for_host_functions(Stream& stream) {
  while (host_functions_pending(stream)) DriverLock::wait();
}

void wait_for_all_host_functions(Context*) {
  while (total_pending() != 0) DriverLock::wait();
}

} // namespace gmt::sim
