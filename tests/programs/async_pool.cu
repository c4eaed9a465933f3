// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation used as intended: the default pool, a pool of one's own, a free on another stream that an
// event orders after the work, and cudaFree of a pool's block. Nothing is wrong.
//
// run:
// expect: clean
#include "answers.h"

constexpr size_t kBytes = 256 * 1024;

static void own_pool(cudaStream_t stream)
{
  cudaMemPoolProps properties{};
  cudaMemPool_t pool;
  void* block = nullptr;
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaMallocFromPoolAsync(&block, kBytes, pool, stream));
    CHECK(cudaMemsetAsync(block, i, kBytes, stream));
    CHECK(cudaFreeAsync(block, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  CHECK(cudaMemPoolDestroy(pool));
}

static void freed_on_other_stream(cudaStream_t first, cudaStream_t second)
{
  cudaEvent_t done;
  void* block = nullptr;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaMallocAsync(&block, kBytes, first));
  CHECK(cudaMemsetAsync(block, 1, kBytes, first));
  CHECK(cudaEventRecord(done, first));
  CHECK(cudaStreamWaitEvent(second, done, 0));
  CHECK(cudaFreeAsync(block, second));
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaEventDestroy(done));
}

static void freed_by_cuda_free(cudaStream_t stream)
{
  void* block = nullptr;
  CHECK(cudaMallocAsync(&block, kBytes, stream));
  CHECK(cudaMemsetAsync(block, 1, kBytes, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(block));
}

int main()
{
  cudaStream_t first, second;
  CHECK(cudaStreamCreate(&first));
  CHECK(cudaStreamCreate(&second));
  own_pool(first);
  freed_on_other_stream(first, second);
  freed_by_cuda_free(first);
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  return 0;
}
