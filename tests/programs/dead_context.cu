// SPDX-License-Identifier: Apache-2.0
// Kernels that end their context. On a GPU without a core dump nothing but the answer of a later call says so: that is
// the error kernel-fault, once for the context, with the kernels that may have been running and the memory that they
// were given. The simulated device names the access itself, unless the error is only staged.
//
// unlike-fenced: the driver ends the program behind its core dump
// run: address
// options: check
// expect-real: error kernel-fault count=1 api=cudaDeviceSynchronize message="A kernel used an illegal address: cudaErrorIllegalAddress (700)" stacks="reported here"@wait:LINE(wait),"launched here"@main:LINE(address)
// expect-simulated: error kernel-out-of-bounds stacks="accessed here"@store:LINE(store),"launched here"@main:LINE(address)
// not-checked: leak
// run: alignment
// options: check
// expect-real: error kernel-fault count=1 message="A kernel used a misaligned address: cudaErrorMisalignedAddress (716)" stacks="reported here"@wait:LINE(wait),"launched here"@main:LINE(alignment),"allocated here"@main:LINE(block)
// expect-simulated: error kernel-misaligned stacks="accessed here"@store_wide:LINE(wide),"launched here"@main:LINE(alignment),"allocated here"@main:LINE(block)
// not-checked: leak
// run: trap
// options: check
// expect-real: error kernel-fault count=1 message="A kernel failed: cudaErrorLaunchFailure (719)" stacks="reported here"@wait:LINE(wait),"launched here"@main:LINE(trap)
// expect-simulated: error kernel-fault message="by a trap" stacks="failed here"@stop:LINE(stop),"launched here"@main:LINE(trap)
// not-checked: leak
// run: assert
// options: check
// expect-real: error kernel-fault count=1 message="A kernel failed an assert: cudaErrorAssert (710)" stacks="reported here"@wait:LINE(wait),"launched here"@main:LINE(assert)
// expect-simulated: error kernel-assert message="value > 1" stacks="failed here"@demand:LINE(demand),"launched here"@main:LINE(assert)
// not-checked: leak
// run: staged
// device: simulated
// env: STAGED_STICKY_AFTER_LAUNCH=poison:715
// options: check
// expect: error kernel-fault count=1 message="A kernel met an illegal instruction: cudaErrorIllegalInstruction (715)" stacks="reported here"@wait:LINE(wait),"launched here"@main:LINE(poison),"allocated here"@main:LINE(block)
// not-checked: leak
// run: hardware
// device: simulated
// env: STAGED_STICKY_AFTER_LAUNCH=poison:214
// options: check
// expect: error api-error count=1 message="The hardware failed" stacks="failed here"@wait:LINE(wait)
// not-checked: leak
// run: clean
// options: check
// expect: clean
#include "answers.h"

#undef NDEBUG
#include <cassert>

__global__ void store(int* where) { *where = 1; } // @store
__global__ void store_wide(int* where) { *reinterpret_cast<int4*>(where + 1) = int4{}; } // @wide
__global__ void poison(int* where) { *where = 1; }
__global__ void stop(int value)
{
  if (value == 1) __trap(); // @stop
}
__global__ void demand(int value)
{
  assert(value > 1); // @demand
}

static void wait()
{
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize())); // @wait
}

int main(int argc, char** argv)
{
  int* block = nullptr;
  CHECK(cudaMalloc(&block, 4096)); // @block
  store<<<1, 1>>>(block);
  CHECK(cudaDeviceSynchronize());
  if (started_with(argc, argv, "address"))
    store<<<1, 1>>>(block + (std::size_t{1} << 36)); // @address
  else if (started_with(argc, argv, "alignment"))
    store_wide<<<1, 1>>>(block); // @alignment
  else if (started_with(argc, argv, "trap"))
    stop<<<1, 1>>>(1); // @trap
  else if (started_with(argc, argv, "assert"))
    demand<<<1, 1>>>(1); // @assert
  else if (!started_with(argc, argv, "clean"))
    poison<<<1, 1>>>(block); // @poison
  wait();
  wait();
  (void)cudaFree(block);
}
