// SPDX-License-Identifier: Apache-2.0
// A polynomial whose coefficients are the same for every thread lies in __constant__ memory: written by the host with
// cudaMemcpyToSymbol, read by all threads through the constant cache. It is neither allocated nor freed.
//
// run:
// expect: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kTerms = 4;
constexpr int kCount = 1024;

__constant__ float coefficients[kTerms]; // lowest power first

__global__ void evaluate(const float* x, float* y, int count)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  float sum = 0.0f;
  for (int term = kTerms - 1; term >= 0; --term)
    sum = sum * x[i] + coefficients[term];
  y[i] = sum;
}

static float on_host(const float (&terms)[kTerms], float x)
{
  float sum = 0.0f;
  for (int term = kTerms - 1; term >= 0; --term)
    sum = sum * x + terms[term];
  return sum;
}

int main()
{
  const float terms[kTerms] = {1.0f, 2.0f, 0.5f, -1.0f};
  std::vector<float> x(kCount), y(kCount);
  for (int i = 0; i < kCount; ++i)
    x[i] = i % 8;

  float *device_x = nullptr, *device_y = nullptr;
  CHECK(cudaMemcpyToSymbol(coefficients, terms, sizeof terms));
  CHECK(cudaMalloc(&device_x, kCount * sizeof(float)));
  CHECK(cudaMalloc(&device_y, kCount * sizeof(float)));
  CHECK(cudaMemcpy(device_x, x.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  evaluate<<<kCount / 256, 256>>>(device_x, device_y, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), device_y, kCount * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));

  int wrong = 0;
  for (int i = 0; i < kCount; ++i)
    wrong += y[i] != on_host(terms, x[i]);
  std::printf("%d of %d values differ from the host's\n", wrong, kCount);
  return wrong != 0;
}
