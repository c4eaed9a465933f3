// SPDX-License-Identifier: Apache-2.0
// Algorithms of CUB whose threads share memory in ways of their own: none of them is a race in any order. The results are
// those of the host.
//
// run: right-0
// device: simulated
// expect: clean
// run: right-1
// device: simulated
// options: --device-seed 1
// expect: clean
// run: right-2
// device: simulated
// options: --device-seed 2
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3
// expect: clean
// run: right-4
// device: simulated
// options: --device-seed 4
// expect: clean
#include "answers.h"

#include <cub/block/block_exchange.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/device/device_run_length_encode.cuh>

#include <algorithm>
#include <vector>

constexpr int kCount = 6000, kThreads = 128, kEach = 4;

static std::vector<int> copied(const int* values, int count)
{
  std::vector<int> host(count);
  CHECK(cudaMemcpy(host.data(), values, count * sizeof(int), cudaMemcpyDeviceToHost));
  return host;
}

// Where runs of equal values are longer than one, and how long they are.
static bool finds_runs()
{
  std::vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = i / 17 + (i % 5 == 0 ? 1000 : 0);
  int *values, *offsets, *lengths, *count;
  for (int** each : {&values, &offsets, &lengths, &count}) CHECK(cudaMalloc(each, kCount * sizeof(int)));
  CHECK(cudaMemcpy(values, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  void* memory = nullptr;
  std::size_t bytes = 0;
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(cub::DeviceRunLengthEncode::NonTrivialRuns(memory, bytes, values, offsets, lengths, count, kCount));
    if (turn == 0) CHECK(cudaMalloc(&memory, bytes));
  }
  std::vector<int> wanted;
  for (int i = 0; i + 1 < kCount; ++i) {
    if (host[i] == host[i + 1] && (i == 0 || host[i - 1] != host[i])) wanted.push_back(i);
  }
  const int found = copied(count, 1)[0];
  const bool is_right = found == static_cast<int>(wanted.size()) && copied(offsets, found) == wanted;
  for (int* each : {values, offsets, lengths, count}) CHECK(cudaFree(each));
  CHECK(cudaFree(memory));
  return is_right;
}

// Two sorts, a scan, and exchanges in between, in one piece of shared memory.
__global__ void in_blocks(int* values)
{
  using Sort = cub::BlockRadixSort<int, kThreads, kEach>;
  using Merge = cub::BlockMergeSort<int, kThreads, kEach>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Exchange = cub::BlockExchange<int, kThreads, kEach>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Merge::TempStorage merge;
    typename Scan::TempStorage scan;
    typename Exchange::TempStorage exchange;
  } memory;
  int mine[kEach];
  int* const from = values + (blockIdx.x * kThreads + threadIdx.x) * kEach;
  for (int i = 0; i < kEach; ++i) mine[i] = from[i];
  Sort(memory.sort).Sort(mine);
  __syncthreads();
  Exchange(memory.exchange).BlockedToStriped(mine, mine);
  __syncthreads();
  Exchange(memory.exchange).StripedToBlocked(mine, mine);
  __syncthreads();
  Scan(memory.scan).InclusiveSum(mine, mine);
  __syncthreads();
  Merge(memory.merge).Sort(mine, [](int a, int b) { return a > b; });
  for (int i = 0; i < kEach; ++i) from[i] = mine[i];
}

static bool sorts_in_blocks()
{
  constexpr int kBlocks = 3, kOfBlock = kThreads * kEach;
  std::vector<int> host(kBlocks * kOfBlock);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i * 7919 % 1009);
  int* values;
  CHECK(cudaMalloc(&values, host.size() * sizeof(int)));
  CHECK(cudaMemcpy(values, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
  in_blocks<<<kBlocks, kThreads>>>(values);
  CHECK(cudaDeviceSynchronize());
  for (int block = 0; block < kBlocks; ++block) {
    const auto begin = host.begin() + block * kOfBlock, end = begin + kOfBlock;
    std::sort(begin, end);
    for (auto each = begin + 1; each != end; ++each) *each += *(each - 1);
    std::reverse(begin, end);
  }
  const bool is_right = copied(values, static_cast<int>(host.size())) == host;
  CHECK(cudaFree(values));
  return is_right;
}

int main()
{
  const bool is_right = finds_runs() & sorts_in_blocks();
  return is_right ? 0 : 1;
}
