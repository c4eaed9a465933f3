// SPDX-License-Identifier: Apache-2.0
// printf and assert in kernels. The text of printf comes out at a synchronisation; its results are
// numbers of arguments.
#include <cassert>

#include "torture.h"

__global__ void print_formats(int* out) {
  if (threadIdx.x != 3) return;
  out[0] = printf("printed: %d %5u|%-6x|%o %c %s %% %p\n", -42, 7u, 0xabu, 8, 'c', "text",
                  static_cast<void*>(nullptr));
  out[1] = printf("printed: %.3f %e %g %lld %llu %ld\n", 1.5, 12345.678, 0.0001, -1ll,
                  18446744073709551615ull, 99l);
  out[2] = printf("printed: no arguments\n");
  out[3] = printf("printed: %hd %6d\n", static_cast<short>(-3), 12);
}

__global__ void print_from_all(int* out) {
  if (threadIdx.x % 16 == 0) printf("printed: block %u thread %u\n", blockIdx.x, threadIdx.x);
  out[global_index()] = 1;
}

__global__ void assertions_that_hold(const int* in, int* out) {
  const int value = in[threadIdx.x];
  assert(value >= 0 && "a number below zero");
  out[threadIdx.x] = value + 1;
}

int main() {
  torture::Array<int> out(4), all(64), plus(32);
  print_formats<<<1, 32>>>(out);
  torture::expect("print_formats", out, {7, 6, 0, 2});
  print_from_all<<<2, 32>>>(all);
  torture::expect("print_from_all", all, std::vector<int>(64, 1));
  const auto in = torture::numbers_below<int>(32, 1, 100);
  std::vector<int> want(32);
  for (int t = 0; t < 32; ++t) want[t] = in[t] + 1;
  torture::Array<int> din(in);
  assertions_that_hold<<<1, 32>>>(din, plus);
  torture::expect("assertions_that_hold", plus, want);
  return torture::finish();
}
