// SPDX-License-Identifier: Apache-2.0
// Counters that live as long as the module: a __device__ array, set and read by symbol copies, cleared through the
// address that cudaGetSymbolAddress gives. That address looks like any other device pointer, but it was never allocated.
// Variants: clean (or no word); free: a tidy program frees the address, which CUDA refuses.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: free
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@tidy_up:LINE(free),"looked up here"@address_of_counters:LINE(look-up)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kCounters = 64;

__device__ unsigned counters[kCounters];

__global__ void count_up()
{
  atomicAdd(&counters[threadIdx.x % kCounters], 1u);
}

static void* address_of_counters()
{
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, counters)); // @look-up
  return address;
}

static void tidy_up()
{
  TRY(cudaFree(address_of_counters())); // @free
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  unsigned values[kCounters], before[kCounters];
  for (unsigned& value : values)
    value = 7;

  CHECK(cudaMemcpyToSymbol(counters, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(before, counters, sizeof before));
  CHECK(cudaMemset(address_of_counters(), 0, sizeof values));
  count_up<<<4, 256>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyFromSymbol(values, counters, sizeof values));
  if (!std::strcmp(variant, "free"))
    tidy_up();

  std::printf("first counter: %u, then %u\n", before[0], values[0]);
  return before[kCounters - 1] != 7 || values[0] != 16u;
}
