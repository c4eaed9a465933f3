// SPDX-License-Identifier: Apache-2.0
// Cooperative groups inside a block: tiles, groups of those who are there, reductions and scans.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "torture.h"

namespace cg = cooperative_groups;

template <int kSize> __global__ void tiles(const int* in, int* out) {
  const auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  int value = in[threadIdx.x];
  for (int step = kSize / 2; step > 0; step /= 2) value += tile.shfl_down(value, step);
  value = tile.shfl(value, 0);
  out[threadIdx.x] =
    value + static_cast<int>(tile.meta_group_rank() * 1000000 + tile.thread_rank() * 100000);
}

__global__ void group_reductions(const int* in, int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int value = in[threadIdx.x];
  out[3 * threadIdx.x] = cg::reduce(tile, value, cg::plus<int>());
  out[3 * threadIdx.x + 1] = cg::reduce(tile, value, cg::less<int>());
  out[3 * threadIdx.x + 2] = cg::inclusive_scan(tile, value, cg::plus<int>());
}

__global__ void those_who_are_there(const int* in, int* out) {
  if (in[threadIdx.x] % 3 == 0) {
    const auto group = cg::coalesced_threads();
    int first = 0;
    if (group.thread_rank() == 0) first = atomicAdd(out, static_cast<int>(group.size()));
    first = group.shfl(first, 0);
    out[1 + first + static_cast<int>(group.thread_rank())] = in[threadIdx.x];
  }
}

__global__ void labeled_groups(const int* in, int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto group = cg::labeled_partition(tile, in[threadIdx.x] % 5);
  out[threadIdx.x] = cg::reduce(group, 1, cg::plus<int>());
}

__global__ void block_group(int* out) {
  __shared__ int values[96];
  const auto block = cg::this_thread_block();
  values[block.thread_rank()] = static_cast<int>(block.thread_rank()) * 2;
  block.sync();
  out[blockIdx.x * block.size() + block.thread_rank()] =
    values[block.size() - 1 - block.thread_rank()] + static_cast<int>(block.group_index().x);
}

template <int kSize> void run(const char* name, const std::vector<int>& in) {
  torture::Array<int> din(in), out(in.size());
  std::vector<int> want(in.size());
  for (int t = 0; t < static_cast<int>(in.size()); ++t) {
    int sum = 0;
    for (int k = 0; k < kSize; ++k) sum += in[t / kSize * kSize + k];
    want[t] = sum + t / kSize * 1000000 + t % kSize * 100000;
  }
  tiles<kSize><<<1, static_cast<unsigned>(in.size())>>>(din.get(), out.get());
  torture::expect(name, out, want);
}

int main() {
  const int n = 96;
  const auto in = torture::numbers_below<int>(n, 1, 1000);
  run<32>("tiles_of_32", in);
  run<16>("tiles_of_16", in);
  run<4>("tiles_of_4", in);
  torture::Array<int> din(in), out(3 * n), present(n + 1), labels(n), block(2 * n);
  std::vector<int> want(3 * n);
  for (int t = 0; t < n; ++t) {
    int sum = 0, least = 1000, before = 0;
    for (int k = t / 32 * 32; k < t / 32 * 32 + 32; ++k) {
      sum += in[k];
      least = in[k] < least ? in[k] : least;
      before += k <= t ? in[k] : 0;
    }
    want[3 * t] = sum;
    want[3 * t + 1] = least;
    want[3 * t + 2] = before;
  }
  group_reductions<<<1, n>>>(din, out);
  torture::expect("group_reductions", out, want);
  those_who_are_there<<<1, n>>>(din, present);
  int count = 0;
  long long sum = 0;
  for (const int value : in) {
    count += value % 3 == 0;
    sum += value % 3 == 0 ? value : 0;
  }
  const auto got = present.host();
  for (int i = 1; i <= n; ++i) sum -= got[i];
  torture::report("those_who_are_there", got[0] == count && sum == 0);
  want.assign(n, 0);
  for (int t = 0; t < n; ++t) {
    for (int k = t / 32 * 32; k < t / 32 * 32 + 32; ++k) want[t] += in[k] % 5 == in[t] % 5;
  }
  labeled_groups<<<1, n>>>(din, labels);
  torture::expect("labeled_groups", labels, want);
  want.resize(2 * n);
  for (int i = 0; i < 2 * n; ++i) want[i] = 2 * (n - 1 - i % n) + i / n;
  block_group<<<2, n>>>(block);
  torture::expect("block_group", block, want);
  return torture::finish();
}
