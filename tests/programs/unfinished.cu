// SPDX-License-Identifier: Apache-2.0
// The process dies inside a driver call: in the third allocation, by order of the simulated device, or in a wait for a
// kernel that never ends, by SIGKILL. The report names that call, and leaks are not checked.
//
// unlike-fenced: other functions of the driver are called
// run:
// device: simulated
// env: STAGED_ABORT_IN=cuMemAlloc_v2:3
// exit: signal 6
// expect: note unfinished-call count=1 api=cudaMalloc stacks="called here"@take:LINE(alloc)
// not-checked: leak
// run: waiting
// unlike-late: the kernel runs in the wait for it
// exit: signal 9
// expect-real: note unfinished-call count=1 api=cudaDeviceSynchronize stacks="called here"@wait_for_ever:LINE(wait)
// expect-simulated: note unfinished-call count=1 api=cudaLaunchKernel stacks="called here"@wait_for_ever:LINE(spin)
// not-checked: leak
// run: untouched
// expect: clean
#include "answers.h"

#include <chrono>
#include <csignal>
#include <thread>

__global__ void spin(volatile int* flag)
{
  while (*flag == 0) {
  }
}

static char* take()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @alloc
  TOUCH(block, 4096);
  return block;
}

static void wait_for_ever()
{
  int* flag = nullptr;
  CHECK(cudaMallocHost(&flag, sizeof *flag)); // the host might set it: no kernel-hang
  *flag = 0;
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::raise(SIGKILL);
  }).detach();
  spin<<<1, 1>>>(flag); // @spin
  CHECK(cudaDeviceSynchronize()); // @wait
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "waiting"))
    wait_for_ever();
  char* blocks[5];
  for (char*& block : blocks)
    block = take();
  for (char* block : blocks)
    CHECK(cudaFree(block));
  return 0;
}
