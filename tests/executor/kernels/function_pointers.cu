// SPDX-License-Identifier: Apache-2.0
// Calls whose target is found at run time: tables, structures, arguments, copies to the host and
// back.
#include "torture.h"

using Operation = int (*)(int, int);

__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ int mixed(int a, int b) { return (a << 3) ^ b; }
__device__ __noinline__ int larger(int a, int b) { return a > b ? a : b; }

__device__ Operation operations[4] = {plus, times, mixed, larger};
__constant__ Operation constant_operation = mixed;
__device__ Operation chosen;

struct Handler {
  double (*apply)(double, const void*);
  double factor;
};

__device__ double scaled(double x, const void* self) {
  return x * static_cast<const Handler*>(self)->factor;
}
__device__ double shifted(double x, const void* self) {
  return x + static_cast<const Handler*>(self)->factor;
}
__device__ Handler handlers[2] = {{scaled, 1.5}, {shifted, 10.0}};

__global__ void call_by_table(const int* in, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = operations[in[i] % 4](in[i], i);
}

__global__ void call_by_constant(const int* in, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = constant_operation(in[i], i);
}

__global__ void call_argument(Operation operation, const int* in, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = operation(in[i], 100 - i);
}

__global__ void call_by_structures(const double* in, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const Handler& handler = handlers[i / 3 % 2];
  out[i] = handler.apply(in[i], &handler);
}

__global__ void choose(int which) {
  if (threadIdx.x == 0) chosen = operations[which];
}

__global__ void call_chosen(const int* in, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = chosen(in[i], 3);
}

struct Big {
  int values[6];
};
using Maker = Big (*)(int);
__device__ __noinline__ Big counting_up(int from) {
  Big big;
  for (int k = 0; k < 6; ++k) big.values[k] = from + k;
  return big;
}
__device__ __noinline__ Big counting_down(int from) {
  Big big;
  for (int k = 0; k < 6; ++k) big.values[k] = from - k;
  return big;
}
__device__ Maker makers[2] = {counting_up, counting_down};

__global__ void structures_from_pointers(int* out) {
  const Big big = makers[threadIdx.x % 2](static_cast<int>(threadIdx.x) * 10);
  int sum = 0;
  for (int k = 0; k < 6; ++k) sum = sum * 3 + big.values[k];
  out[threadIdx.x] = sum;
}

int host_operation(int which, int a, int b) {
  switch (which) {
  case 0: return a + b;
  case 1: return a * b;
  case 2: return (a << 3) ^ b;
  default: return a > b ? a : b;
  }
}

int main() {
  const int n = 200;
  const auto in = torture::numbers_below<int>(n, 1, 10000);
  torture::Array<int> din(in), out(n);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = host_operation(in[i] % 4, in[i], i);
  call_by_table<<<2, 128>>>(din, out, n);
  torture::expect("call_by_table", out, want);
  for (int i = 0; i < n; ++i) want[i] = host_operation(2, in[i], i);
  call_by_constant<<<2, 128>>>(din, out, n);
  torture::expect("call_by_constant", out, want);
  Operation table[4];
  OK(cudaMemcpyFromSymbol(table, operations, sizeof(table)));
  for (int i = 0; i < n; ++i) want[i] = host_operation(3, in[i], 100 - i);
  call_argument<<<2, 128>>>(table[3], din, out, n);
  torture::expect("call_argument", out, want);
  choose<<<1, 32>>>(1);
  for (int i = 0; i < n; ++i) want[i] = in[i] * 3;
  call_chosen<<<2, 128>>>(din, out, n);
  torture::expect("call_chosen", out, want);

  const auto x = torture::numbers<double>(n, 2);
  torture::Array<double> dx(x), values(n);
  std::vector<double> want_values(n);
  for (int i = 0; i < n; ++i) want_values[i] = i / 3 % 2 ? x[i] + 10 : x[i] * 1.5;
  call_by_structures<<<2, 128>>>(dx, values, n);
  torture::expect("call_by_structures", values, want_values);

  torture::Array<int> sums(32);
  want.assign(32, 0);
  for (int t = 0; t < 32; ++t) {
    for (int k = 0; k < 6; ++k) want[t] = want[t] * 3 + t * 10 + (t % 2 ? -k : k);
  }
  structures_from_pointers<<<1, 32>>>(sums);
  torture::expect("structures_from_pointers", sums, want);
  return torture::finish();
}
