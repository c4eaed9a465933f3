// SPDX-License-Identifier: Apache-2.0
// Variables of modules: device, constant and managed ones, with initial values and addresses of
// each other, static ones of functions, and copies to and from their symbols.
#include "torture.h"

__device__ int counter = 41;
__device__ short shorts[5] = {-1, 2, -3};
__device__ double grid[2][3] = {{1, 2, 3}, {4, 5.5, 6}};
__device__ int targets[4] = {10, 20, 30, 40};
__device__ int* pointer = targets + 2;
__device__ int* const pointers[2] = {targets, targets + 3};
__device__ const char* text = "static text";
__device__ const char* words[3] = {"one", "two", "three"};
__managed__ int managed_values[4] = {5, 6, 7, 8};
__managed__ double managed_sum;
__constant__ int limits[3] = {100, 200, 300};
__constant__ const int* constant_pointer;

struct Settings {
  int a;
  float b;
  const int* c;
};
__device__ Settings settings = {3, 0.5F, targets + 1};
struct Constructed {
  int value;
  constexpr Constructed(int x = 0) : value(x * 2) {}
};
__device__ Constructed constructed(21);
static __device__ int hidden = 9;

__global__ void initial_values(double* out) {
  out[0] = counter;
  for (int k = 0; k < 5; ++k) out[1 + k] = shorts[k];
  for (int k = 0; k < 6; ++k) out[6 + k] = grid[k / 3][k % 3];
  out[12] = *pointer;
  out[13] = pointers[0][1] + pointers[1][0];
  out[14] = settings.a + settings.c[1];
  out[15] = static_cast<double>(settings.b);
  out[16] = constructed.value;
  out[17] = hidden;
}

__global__ void texts(int* out) {
  int sum = 0;
  for (const char* c = text; *c != 0; ++c) sum = sum * 5 + *c;
  out[0] = sum;
  for (int w = 0; w < 3; ++w) {
    int length = 0;
    while (words[w][length] != 0) ++length;
    out[1 + w] = length * 1000 + words[w][1];
  }
  const char local[] = "local";
  out[4] = local[threadIdx.x % 5];
}

__global__ void change_variables() {
  counter += 1;
  shorts[4] = 77;
  pointer = targets;
  managed_values[2] *= 10;
  managed_sum = managed_values[0] + 0.25;
}

__global__ void constants_set_by_host(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  out[t] = limits[t % 3] + constant_pointer[t % 4];
}

__global__ void static_in_function(int* out) {
  static __device__ int calls = 5;
  static __shared__ int shared_calls;
  if (threadIdx.x == 0) shared_calls = 0;
  __syncthreads();
  atomicAdd(&calls, 1);
  atomicAdd(&shared_calls, 2);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = shared_calls;
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(out + 2, calls);
}

int main() {
  torture::Array<double> values(18);
  initial_values<<<1, 1>>>(values);
  torture::expect("initial_values", values,
                  {41, -1, 2, -3, 0, 0, 1, 2, 3, 4, 5.5, 6, 30, 60, 33, 0.5, 42, 9});
  torture::Array<int> out(5);
  texts<<<1, 1>>>(out);
  unsigned sum = 0;
  for (const char* c = "static text"; *c != 0; ++c) sum = sum * 5 + static_cast<unsigned>(*c);
  torture::expect("texts", out, {static_cast<int>(sum), 3000 + 'n', 3000 + 'w', 5000 + 'h', 'l'});

  change_variables<<<1, 1>>>();
  OK(cudaDeviceSynchronize());
  int got = 0;
  short got_shorts[5];
  int* got_pointer;
  void* address;
  std::size_t size = 0;
  OK(cudaMemcpyFromSymbol(&got, counter, sizeof(got)));
  OK(cudaMemcpyFromSymbol(got_shorts, shorts, sizeof(got_shorts)));
  OK(cudaMemcpyFromSymbol(&got_pointer, pointer, sizeof(got_pointer)));
  OK(cudaGetSymbolAddress(&address, targets));
  OK(cudaGetSymbolSize(&size, grid));
  const bool changed =
    got == 42 && got_shorts[4] == 77 && got_shorts[2] == -3 && got_pointer == address && size == 48;
  torture::report("change_variables", changed && managed_values[2] == 70 && managed_sum == 5.25);

  const int host_limits[2] = {7, 8};
  OK(cudaMemcpyToSymbol(limits, host_limits, sizeof(host_limits), 4));
  OK(cudaMemcpyToSymbol(constant_pointer, &address, sizeof(address)));
  torture::Array<int> set(12);
  constants_set_by_host<<<1, 12>>>(set);
  std::vector<int> want(12);
  const int all[] = {100, 7, 8};
  for (int t = 0; t < 12; ++t) want[t] = all[t % 3] + 10 * (t % 4 + 1);
  torture::expect("constants_set_by_host", set, want);

  torture::Array<int> calls(3);
  static_in_function<<<2, 32>>>(calls);
  torture::expect("static_in_function", calls, {64, 64, 69});
  return torture::finish();
}
