// SPDX-License-Identifier: Apache-2.0
// A pool that says by the macros of pool.h what it gives out: what goes wrong inside it is found, with the stacks of its
// users.
//
// run: clean
// expect: clean
// run: leak
// expect: error leak count=1 bytes=1000 stacks="allocated here"@take,"pool ended here"
// run: twice
// expect: error double-free count=1 stacks="freed again here"@give_back,"first freed here"@give_back,"allocated here"@take
// run: past
// expect: error copy-out-of-bounds bytes=24 api=cudaMemset stacks="set here"@main,"allocated here"@take
// run: after
// expect: error use-after-free api=cudaMemset stacks="set here"@main,"freed here"@give_back,"allocated here"@take
// run: whole
// expect: error leak count=1 bytes=1000 message="when cudaFree ended its pool" stacks="allocated here"@take,"pool ended here"@main
// expect: error invalid-free api=nvtxMemRegionsUnregister stacks="freed here"@give_back,"pool ended here"@main,"allocated here"@take
// run: middle
// expect: error invalid-free api=nvtxMemRegionsUnregister message="4 bytes inside" stacks="freed here"@give_back,"allocated here"@take
// run: cudafree
// expect: error mismatched-free api=cudaFree message="the pool's own release function"
// run: clean limits
// options: check --policy "max-allocations 1" --policy "max-device-bytes 1M"
// expect: clean
#include <cuda_runtime.h>
#include "../../device_hooks/include/gpumemtrace/pool.h"

#include <cstring>

static constexpr size_t kBytes = 1 << 20;
static gpumemtrace_pool pool;

static void* take(void* at, size_t bytes) {
  GPUMEMTRACE_POOL_TAKE(pool, at, bytes);
  return at;
}

static void give_back(void* at) { GPUMEMTRACE_POOL_GIVE_BACK(at); }

int main(int, char** arguments) {
  const auto is = [arguments](const char* word) { return std::strcmp(arguments[1], word) == 0; };
  char* base = nullptr;
  if (cudaMalloc(&base, kBytes) != cudaSuccess) return 1;
  GPUMEMTRACE_POOL_CREATE(pool, base, kBytes);
  void* a = take(base, 1000);
  void* b = take(base + 1024, 1000);
  cudaMemset(a, 0, 1000);
  cudaMemset(b, 0, is("past") ? 1024 : 1000);
  if (is("cudafree") && cudaFree(b) == cudaSuccess) return 1;
  give_back(a);
  if (is("twice")) give_back(a);
  if (is("after")) cudaMemset(a, 0, 10);
  if (is("middle")) give_back(static_cast<char*>(b) + 4);
  if (is("whole")) cudaFree(base);
  if (!is("leak")) give_back(b);
  GPUMEMTRACE_POOL_DESTROY(pool);
  if (!is("whole")) cudaFree(base);
  return 0;
}
