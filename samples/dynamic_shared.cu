// SPDX-License-Identifier: Apache-2.0
// The largest value of an array and where it is, found block by block in shared memory. Its size is given at the
// launch; two arrays share the one block of bytes, the one with the stricter alignment first.
//
// run:
// expect: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kCount = 64 * 1024;
constexpr int kThreads = 256;
constexpr int kBlocks = kCount / kThreads;
constexpr int kWhere = 4711;

struct Largest {
  double value;
  int index;
};

extern __shared__ unsigned char scratch[];

__global__ void find_largest(const double* values, Largest* results)
{
  double* best = reinterpret_cast<double*>(scratch);
  int* where = reinterpret_cast<int*>(best + blockDim.x);
  int own = threadIdx.x;
  int index = blockIdx.x * blockDim.x + own;
  best[own] = values[index];
  where[own] = index;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (own < step && best[own + step] > best[own]) {
      best[own] = best[own + step];
      where[own] = where[own + step];
    }
    __syncthreads();
  }
  if (own == 0)
    results[blockIdx.x] = {best[0], where[0]};
}

int main()
{
  std::vector<double> values(kCount, 1.0);
  values[kWhere] = 2.0;
  std::vector<Largest> results(kBlocks);

  double* device_values = nullptr;
  Largest* device_results = nullptr;
  CHECK(cudaMalloc(&device_values, kCount * sizeof(double)));
  CHECK(cudaMalloc(&device_results, kBlocks * sizeof(Largest)));
  CHECK(cudaMemcpy(device_values, values.data(), kCount * sizeof(double), cudaMemcpyHostToDevice));
  size_t shared = kThreads * (sizeof(double) + sizeof(int));
  find_largest<<<kBlocks, kThreads, shared>>>(device_values, device_results);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(results.data(), device_results, kBlocks * sizeof(Largest), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_values));
  CHECK(cudaFree(device_results));

  Largest largest = results[0];
  for (const Largest& result : results)
    if (result.value > largest.value)
      largest = result;
  std::printf("largest value %g at %d\n", largest.value, largest.index);
  return largest.index != kWhere;
}
