// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that go on while their thread does, by each of CUDA's ways.
#include "torture.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

// Two stages; of the second only the first float of each four comes from memory.
__global__ void primitives(const float4* in, float4* out) {
  __shared__ float4 tile[2][64];
  const unsigned t = threadIdx.x;
  __pipeline_memcpy_async(&tile[0][t], &in[t], 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&tile[1][t], &in[64 + t], 16, 12);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  out[t] = tile[0][63 - t];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[64 + t] = tile[1][63 - t];
}

__global__ void groups(const int* in, int* out) {
  __shared__ int tile[256];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof tile);
  cg::wait(block);
  out[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void pipelines(const int* in, int* out, int rounds) {
  __shared__ int tile[2][64];
  const unsigned t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  int sum = 0;
  for (int next = 0, done = 0; done < rounds; ++done) {
    for (; next < rounds && next < done + 2; ++next) {
      pipe.producer_acquire();
      cuda::memcpy_async(&tile[next % 2][t], &in[next * 64 + t], sizeof(int), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    __syncthreads();
    sum += tile[done % 2][63 - t];
    __syncthreads();
    pipe.consumer_release();
  }
  out[t] = sum;
}

int main() {
  const auto floats = torture::numbers_below<int>(512, 1, 10000);
  std::vector<float> values(floats.begin(), floats.end()), want(512);
  for (int i = 0; i < 512; ++i) {
    const int from = (i / 256) * 256 + (63 - i / 4 % 64) * 4 + i % 4;
    want[i] = i >= 256 && i % 4 != 0 ? 0 : values[from];
  }
  torture::Array<float> in(values), out(512);
  primitives<<<1, 64>>>(reinterpret_cast<float4*>(in.get()), reinterpret_cast<float4*>(out.get()));
  torture::expect("primitives", out, want);

  const auto numbers = torture::numbers_below<int>(448, 2, 10000);
  torture::Array<int> integers(numbers), reversed(256), sums(64);
  std::vector<int> expected(256);
  for (int i = 0; i < 256; ++i) expected[i] = numbers[255 - i];
  groups<<<1, 256>>>(integers, reversed);
  torture::expect("groups", reversed, expected);

  expected.assign(64, 0);
  for (int i = 0; i < 448; ++i) expected[63 - i % 64] += numbers[i];
  pipelines<<<1, 64>>>(integers, sums, 7);
  torture::expect("pipelines", sums, expected);
  return torture::finish();
}
