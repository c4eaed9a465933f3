// SPDX-License-Identifier: Apache-2.0
// Thrust and CUB have functions and members named malloc and free of their own.
#include <thrust/device_free.h>
#include <thrust/device_malloc.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/memory.h>
#include <thrust/sort.h>

#include <cub/device/device_reduce.cuh>

__global__ void one_malloc(void** out) { out[0] = malloc(8); }

int main(int count, char**) {
  if (count < 2) return 0; // there may be no GPU
  thrust::device_vector<int> values(1000, 3);
  thrust::sort(values.begin(), values.end());
  thrust::device_ptr<int> pointer = thrust::device_malloc<int>(5);
  thrust::device_free(pointer);
  thrust::pointer<int, thrust::device_system_tag> tagged =
    thrust::malloc<int>(thrust::device_system_tag{}, 5);
  thrust::free(thrust::device_system_tag{}, tagged);
  std::size_t bytes = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, values.begin(), values.begin(), 1000);
  return 0;
}
