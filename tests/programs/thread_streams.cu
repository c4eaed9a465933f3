// SPDX-License-Identifier: Apache-2.0
// Threads that follow one another, each with a default stream of its own: what one allocates there and the next uses must
// be ordered, by an event or by a wait. With an event the program itself hangs on a GPU that many others use (driver 580):
// the stream ends with its thread while the event may be pending.
//
// run: none
// expect: error stream-order count=1 api=cudaMemsetAsync message="cudaMemsetAsync on the thread's default stream uses" stacks="used here"@use:LINE(use),"allocated here"@allocate:LINE(alloc)
// run: event
// device: simulated
// expect: clean
// run: wait
// expect: clean
#include "answers.h"

#include <thread>

constexpr size_t kBytes = 4096;

static void* block = nullptr;
static cudaEvent_t allocated;
static const char* how = "";

static void allocate()
{
  CHECK(cudaMallocAsync(&block, kBytes, cudaStreamPerThread)); // @alloc
  if (std::strcmp(how, "event") == 0) CHECK(cudaEventRecord(allocated, cudaStreamPerThread));
  if (std::strcmp(how, "wait") == 0) CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

static void use()
{
  if (std::strcmp(how, "event") == 0) CHECK(cudaStreamWaitEvent(cudaStreamPerThread, allocated, 0));
  CHECK(cudaMemsetAsync(block, 0, kBytes, cudaStreamPerThread)); // @use
}

int main(int argc, char** argv)
{
  how = argc > 1 ? argv[1] : "";
  CHECK(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming));
  for (auto* part : {allocate, use}) {
    std::thread thread(part);
    thread.join();
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeAsync(block, cudaStreamLegacy));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(allocated));
  return 0;
}
