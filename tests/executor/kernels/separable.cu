// SPDX-License-Identifier: Apache-2.0
// First source of a program of two: functions and variables of the other one, and names that both
// have for themselves. nvcc -rdc=true separable.cu separable_other.cu
#include "separable.h"

#include "torture.h"

static __device__ int own = 100;
static __device__ __noinline__ int helper(int x) { return x + own; }
__device__ int called_back = 4;
__device__ int calls_back(int x) { return x * called_back; }

__global__ void use_other_file(int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  atomicAdd(&shared_counter, 1);
  out[i] = from_other_file(i) + shared_table[i % 8] + helper(i) + in_both_files(i) +
           static_cast<int>(shared_factor * 2) + shared_functions[i % 2](i);
}

int main() {
  const int n = 100;
  torture::Array<int> out(n), other(n);
  std::vector<int> want(n), want_other(n);
  for (int i = 0; i < n; ++i) {
    want[i] = (i * 4 + 1) + (i % 8) * 11 + (i + 100) + (i * i + 1) + 5 + (i % 2 ? -i : i * 2);
    want_other[i] = (i + 1000) + (i * i + 1);
  }
  use_other_file<<<1, 128>>>(out, n);
  torture::expect("use_other_file", out, want);
  launch_other(other, n);
  torture::expect("other_file", other, want_other);
  int counter = 0;
  OK(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof(counter)));
  torture::report("shared_counter", counter == 7 + n);
  return torture::finish();
}
