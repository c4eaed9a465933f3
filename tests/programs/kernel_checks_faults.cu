// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: a fault ends the context, and nothing can be copied from the device any more. What kernels did
// wrong before is named all the same, without a wait between: records of it lie in memory of the host, too.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: trap
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=3 message="right behind the end of 120 bytes of device memory" stacks="accessed here"@fill_and_stop:LINE(fill),"launched here"@main:LINE(trap),"allocated here"@main:LINE(block)
// expect-real: error kernel-fault count=1 message="A kernel failed: cudaErrorLaunchFailure (719)" stacks="reported here"@end:LINE(wait),"launched here"@main:LINE(trap),"allocated here"@main:LINE(block)
// expect-simulated: error kernel-fault message="by a trap"
// not-checked: leak
// run: jump
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 message="right behind the end of 512 bytes of device memory" stacks="accessed here"@call:LINE(pointer),"launched here"@main:LINE(jump),"allocated here"@main:LINE(functions)
// expect: error kernel-fault
// not-checked: leak
// run: assert
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// options: check --kernel-checks
// expect: error kernel-assert count=1 message="block: [1,0,0], thread: [7,0,0] Assertion `to[i] < limit` failed" stacks="failed here"@bounded:LINE(assert),"launched here"@main:LINE(asserts)
// not-checked: leak
// run: unchecked
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// options: check --kernel-checks --skip-kernels store
// expect: error kernel-out-of-bounds count=2 message="right behind the end of 120 bytes of device memory" stacks="accessed here"@fill:LINE(fill-only),"launched here"@main:LINE(before),"allocated here"@main:LINE(block)
// expect-real: error kernel-fault
// expect-simulated: error kernel-out-of-bounds message="in no memory that CUDA gave out" stacks="accessed here"@store:LINE(far),"launched here"@main:LINE(stores)
// not-checked: leak
// run: ends-at-once
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=3 stacks="accessed here"@fill_and_stop:LINE(fill),"launched here"@main:LINE(ends),"allocated here"@main:LINE(block)
// expect: error kernel-fault
// not-checked: leak
#include "answers.h"

#include <cassert>
#include <unistd.h>

__global__ void fill(int* to, int count) {
  if (threadIdx.x < count) to[threadIdx.x] = 1; // @fill-only
}
__global__ void fill_and_stop(int* to, int count) {
  if (threadIdx.x < count) to[threadIdx.x] = 1; // @fill
  __syncthreads();
  if (threadIdx.x == 0) __trap();
}
using Function = int (*)(int);
__global__ void call(Function* functions, int which, int* to) {
  const Function function = functions[which]; // @pointer
  *to = function(which);
}
__global__ void store(int* to) { *to = 1; } // @far

__global__ void bounded(const int* to, int limit) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(to[i] < limit); // @assert
}

static void end() {
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize())); // @wait
  std::fflush(stdout);
}

int main(int argc, char** argv) {
  int* block = nullptr;
  Function* functions = nullptr;
  CHECK(cudaMalloc(&block, 120)); // @block
  CHECK(cudaMalloc(&functions, 512)); // @functions
  CHECK(cudaMemset(functions, 0, 512));
  if (started_with(argc, argv, "trap")) {
    fill_and_stop<<<1, 64>>>(block, 33); // @trap
  } else if (started_with(argc, argv, "jump")) {
    call<<<1, 1>>>(functions, 64, block); // @jump
  } else if (started_with(argc, argv, "assert")) {
    const int large = 3;
    CHECK(cudaMemset(block, 0, 120));
    CHECK(cudaMemcpy(block + 22, &large, sizeof large, cudaMemcpyHostToDevice));
    bounded<<<2, 15>>>(block, large); // @asserts
  } else if (started_with(argc, argv, "unchecked")) {
    fill<<<1, 64>>>(block, 32); // @before
    store<<<1, 1>>>(block + (std::size_t{1} << 36)); // @stores
  } else {
    fill_and_stop<<<1, 64>>>(block, 33); // @ends
    end();
    _exit(0);
  }
  end();
}
