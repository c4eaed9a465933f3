// SPDX-License-Identifier: Apache-2.0
// Sorts and reduces with Thrust, whose vectors and temporary storage come from cudaMalloc, and
// scans with CUB, where the caller asks for the size of the storage first. Then the same with
// Thrust's stream-ordered allocator.
#include <cub/device/device_scan.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include "library_program.h"

int main(int argc, char** argv) {
  need_gpu();
  constexpr int n = 1 << 18;
  bool right = false;
  {
    thrust::device_vector<int> numbers(n), sums(n);
    thrust::sequence(numbers.begin(), numbers.end(), n, -1);
    thrust::sort(numbers.begin(), numbers.end());
    size_t bytes = 0;
    void* storage = nullptr;
    MUST(cub::DeviceScan::InclusiveSum(storage, bytes, numbers.begin(), sums.begin(), n));
    MUST(cudaMalloc(&storage, bytes));
    MUST(cub::DeviceScan::InclusiveSum(storage, bytes, numbers.begin(), sums.begin(), n));
    MUST(cudaDeviceSynchronize());
    MUST(cudaFree(storage));
    const thrust::host_vector<int> first(sums.begin(), sums.begin() + 3);
    right = first[0] == 1 && first[1] == 3 && first[2] == 6;
    cudaStream_t stream;
    MUST(cudaStreamCreate(&stream));
    int* block;
    MUST(cudaMallocAsync(&block, n * sizeof(int), stream));
    thrust::sequence(thrust::cuda::par_nosync.on(stream), block, block + n);
    const int sum = thrust::reduce(thrust::cuda::par.on(stream), block, block + 1000);
    MUST(cudaFreeAsync(block, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaStreamDestroy(stream));
    right = right && sum == 499500;
  }
  if (!right) return 1;
  return finish(argc, argv);
}
