// SPDX-License-Identifier: Apache-2.0
// Cooperative launches: all blocks meet, several times.
#include <cooperative_groups.h>

#include "torture.h"

namespace cg = cooperative_groups;

__global__ void relax(int* a, int* b, int n, int rounds) {
  const auto grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    const int* from = round % 2 ? b : a;
    int* to = round % 2 ? a : b;
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size())) {
      const int left = from[(i + n - 1) % n];
      const int right = from[(i + 1) % n];
      to[i] = (left + from[i] + right) % 1000003;
    }
    grid.sync();
  }
}

__global__ void two_phase_sum(const int* in, int* parts, int* out, int n) {
  const auto grid = cg::this_grid();
  int sum = 0;
  for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
    sum += in[i];
  atomicAdd(parts + blockIdx.x, sum);
  grid.sync();
  if (grid.thread_rank() != 0) return;
  int total = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) total += parts[b];
  *out = total;
}

int main() {
  int n = 1000;
  int rounds = 7;
  auto line = torture::numbers_below<int>(static_cast<std::size_t>(n), 1, 1000);
  torture::Array<int> a(line), b(line.size()), parts(4), out(1);
  int total = 0;
  for (const int value : line) total += value;
  int* pa = a;
  int* pb = b;
  int* pp = parts;
  int* po = out;
  void* sum_arguments[] = {&pa, &pp, &po, &n};
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(two_phase_sum), 4, 64, sum_arguments, 0,
                                 nullptr));
  torture::expect("two_phase_sum", out, {total});
  void* arguments[] = {&pa, &pb, &n, &rounds};
  OK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(relax), 4, 96, arguments, 0, nullptr));
  for (int round = 0; round < rounds; ++round) {
    auto next = line;
    for (int i = 0; i < n; ++i)
      next[i] = (line[(i + n - 1) % n] + line[i] + line[(i + 1) % n]) % 1000003;
    line = next;
  }
  torture::expect("relax", b, line);
  return torture::finish();
}
