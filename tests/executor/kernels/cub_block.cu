// SPDX-License-Identifier: Apache-2.0
// CUB inside of blocks and warps: reductions, scans, sorting, exchange, histograms,
// discontinuities.
#include <algorithm>

#include <cub/cub.cuh>

#include "torture.h"

constexpr int kThreads = 128;
constexpr int kItems = 4;

template <cub::BlockReduceAlgorithm kAlgorithm> __global__ void block_reduce(const int* in,
                                                                             int* out) {
  using Reduce = cub::BlockReduce<int, kThreads, kAlgorithm>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[global_index()]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void block_scan(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } storage;
  int items[kItems];
  const std::size_t base = blockIdx.x * std::size_t{kThreads * kItems};
  Load(storage.load).Load(in + base, items);
  __syncthreads();
  Scan(storage.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(storage.store).Store(out + base, items);
}

template <class Key> __global__ void block_radix_sort(Key* data) {
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  Key items[kItems];
  cub::LoadDirectBlocked(static_cast<int>(threadIdx.x),
                         data + blockIdx.x * std::size_t{kThreads * kItems}, items);
  Sort(storage).Sort(items);
  cub::StoreDirectBlocked(static_cast<int>(threadIdx.x),
                          data + blockIdx.x * std::size_t{kThreads * kItems}, items);
}

__global__ void block_histogram(const unsigned char* in, unsigned* out) {
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 64>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned bins[64];
  unsigned char items[kItems];
  cub::LoadDirectStriped<kThreads>(static_cast<int>(threadIdx.x), in, items);
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  if (threadIdx.x < 64) out[threadIdx.x] = bins[threadIdx.x];
}

__global__ void block_discontinuity(const int* in, int* out) {
  using Flags = cub::BlockDiscontinuity<int, kThreads>;
  __shared__ typename Flags::TempStorage storage;
  int items[1] = {in[threadIdx.x]};
  int flags[1];
  Flags(storage).FlagHeads(flags, items, cuda::std::not_equal_to<>());
  out[threadIdx.x] = flags[0];
}

__global__ void warp_reduce_and_sort(int* data, int* maxima) {
  using Reduce = cub::WarpReduce<int>;
  using Sort = cub::WarpMergeSort<int, 2, 32>;
  __shared__ typename Reduce::TempStorage reduce[4];
  __shared__ typename Sort::TempStorage sort[4];
  const unsigned warp = threadIdx.x / 32;
  int items[2] = {data[2 * threadIdx.x], data[2 * threadIdx.x + 1]};
  const int largest = Reduce(reduce[warp]).Reduce(max(items[0], items[1]), [](int a, int b) {
    return a > b ? a : b;
  });
  if (threadIdx.x % 32 == 0) maxima[warp] = largest;
  Sort(sort[warp]).Sort(items, [](int a, int b) { return a < b; });
  data[2 * threadIdx.x] = items[0];
  data[2 * threadIdx.x + 1] = items[1];
}

template <class Key> void run_sort(const char* name) {
  const int tile = kThreads * kItems;
  auto data = torture::numbers<Key>(2 * tile, 3);
  torture::Array<Key> ddata(data);
  std::sort(data.begin(), data.begin() + tile);
  std::sort(data.begin() + tile, data.end());
  block_radix_sort<<<2, kThreads>>>(ddata.get());
  torture::expect(name, ddata, data);
}

int main() {
  const int tile = kThreads * kItems;
  const auto in = torture::numbers_below<int>(2 * tile, 1, 1000);
  torture::Array<int> din(in), sums(8), scanned(2 * tile);
  std::vector<int> want(8);
  for (int i = 0; i < 2 * tile; ++i) want[i / kThreads] += in[i];
  block_reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS><<<8, kThreads>>>(din.get(), sums.get());
  torture::expect("block_reduce_warps", sums, want);
  block_reduce<cub::BLOCK_REDUCE_RAKING><<<8, kThreads>>>(din.get(), sums.get());
  torture::expect("block_reduce_raking", sums, want);
  want.resize(2 * tile);
  for (int i = 0; i < 2 * tile; ++i) want[i] = in[i] + (i % tile == 0 ? 0 : want[i - 1]);
  block_scan<<<2, kThreads>>>(din, scanned);
  torture::expect("block_scan", scanned, want);
  run_sort<unsigned>("block_radix_sort_u32");
  run_sort<float>("block_radix_sort_f32");
  run_sort<long long>("block_radix_sort_s64");

  const auto bytes = torture::numbers_below<unsigned char>(tile, 4, 64);
  std::vector<unsigned> bins(64);
  for (const unsigned char byte : bytes) ++bins[byte];
  torture::Array<unsigned char> dbytes(bytes);
  torture::Array<unsigned> dbins(64);
  block_histogram<<<1, kThreads>>>(dbytes, dbins);
  torture::expect("block_histogram", dbins, bins);

  auto runs = torture::numbers_below<int>(kThreads, 5, 3);
  torture::Array<int> druns(runs), flags(kThreads);
  want.resize(kThreads);
  for (int t = 0; t < kThreads; ++t) want[t] = t == 0 || runs[t] != runs[t - 1];
  block_discontinuity<<<1, kThreads>>>(druns, flags);
  torture::expect("block_discontinuity", flags, want);

  auto pairs = torture::numbers<int>(256, 6);
  torture::Array<int> dpairs(pairs), maxima(4);
  want.resize(4);
  for (int w = 0; w < 4; ++w) {
    std::sort(pairs.begin() + 64 * w, pairs.begin() + 64 * w + 64);
    want[w] = pairs[64 * w + 63];
  }
  warp_reduce_and_sort<<<1, kThreads>>>(dpairs, maxima);
  torture::expect("warp_reduce", maxima, want);
  torture::expect("warp_merge_sort", dpairs, pairs);
  return torture::finish();
}
