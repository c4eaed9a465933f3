// SPDX-License-Identifier: Apache-2.0
// A program that does not reach its end: the report must stand all the same. What was alive then is listed, but it is
// no leak, since it is not known whether the program would have freed it.
// Variants: clean (or no word); kill: SIGKILL in the middle of the work; abort: a failed assertion;
//   illegal: a kernel writes to an illegal address. The context is dead from there on: every later call fails with the
//   same error, so there is no finding about the frees that follow. The simulated device names the access itself.
//
// unlike-fenced: its fault ends the program, because the fence asks for core dumps
// run:
// expect: clean
// run: clean
// expect: clean
// run: kill
// exit: signal 9
// expect: clean
// not-checked: leak
// run: abort
// exit: signal 6
// expect: clean
// not-checked: leak
// run: illegal
// expect-real: error kernel-fault count=1 api=cudaDeviceSynchronize message="kernels that may have been running: " stacks="reported here"@wait_for_kernel:LINE(wait),"launched here"@main:LINE(launch)
// expect-simulated: error kernel-out-of-bounds count=1 message="in no memory that CUDA gave out" stacks="accessed here"@store:LINE(store),"launched here"@main:LINE(launch)
// not-checked: leak
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kBlocks = 6;
constexpr size_t kBytes = 256 * 1024;

__global__ void store(int* where)
{
  *where = 1; // @store
}

static char* take_block()
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes));
  CHECK(cudaMemset(block, 0, kBytes));
  return block;
}

static void wait_for_kernel()
{
  TRY(cudaDeviceSynchronize()); // @wait
}

static void release(char** blocks)
{
  for (int i = 0; i < kBlocks; ++i)
    TRY(cudaFree(blocks[i]));
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  auto is = [&](const char* word) { return !std::strcmp(variant, word); };
  char* blocks[kBlocks];
  for (char*& block : blocks)
    block = take_block();

  if (is("kill"))
    std::raise(SIGKILL);
  if (is("abort"))
    std::abort();
  store<<<1, 1>>>(is("illegal") ? nullptr : reinterpret_cast<int*>(blocks[0])); // @launch
  CHECK(cudaGetLastError());
  wait_for_kernel();
  release(blocks);
  return 0;
}
