// SPDX-License-Identifier: Apache-2.0
// Makes a context current before a call that needs one: the current context of the thread if there
// is one (the program may have made it through the driver API), else the primary context of the
// thread's device, retained once per device. Invariant: the runtime holds at most one reference on
// each primary context; cudaDeviceReset gives none back, as the driver keeps the count over a
// reset.
#include "simulated_cuda/runtime/context.h"

#include "simulated_cuda/runtime/export.h"

#include <atomic>
#include <map>
#include <mutex>

namespace gmt::sim {
namespace {

std::atomic<unsigned long> generation{1};
std::mutex mutex;

std::map<int, CUcontext>& retained() {
  static auto* const contexts = new std::map<int, CUcontext>;
  return *contexts;
}

bool is_usable(CUcontext context) {
  unsigned version = 0;
  return driver().cuCtxGetApiVersion(context, &version) == CUDA_SUCCESS;
}

} // namespace

cudaError_t primary_context(int device, CUcontext* context) {
  const std::lock_guard lock(mutex);
  CUcontext& known = retained()[device];
  if (known == nullptr || !is_usable(known)) {
    const CUresult result = driver().cuDevicePrimaryCtxRetain(&known, device);
    if (result != CUDA_SUCCESS) {
      known = nullptr;
      return to_runtime(result);
    }
  }
  *context = known;
  return cudaSuccess;
}

void forget_contexts(int) { ++generation; }

cudaError_t use_context() {
  if (cudaError_t error = load_driver(); error != cudaSuccess) return error;
  ThreadState& thread = this_thread();
  CUcontext current = nullptr;
  CUresult result = driver().cuCtxGetCurrent(&current);
  if (result != CUDA_SUCCESS) return to_runtime(result);
  const unsigned long now = generation.load(std::memory_order_relaxed);
  if (current != nullptr && current == thread.context && thread.generation == now)
    return cudaSuccess;
  if (current == nullptr || !is_usable(current)) {
    if (cudaError_t error = primary_context(thread.device, &current); error != cudaSuccess)
      return error;
    result = driver().cuCtxSetCurrent(current);
    if (result != CUDA_SUCCESS) return to_runtime(result);
  }
  thread.context = current;
  thread.generation = now;
  return cudaSuccess;
}

} // namespace gmt::sim
