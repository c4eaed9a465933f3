// SPDX-License-Identifier: Apache-2.0
// Memory that each step leaves behind, freed at the end: no leak, and out of memory after a week. What is bounded, what
// fills, what is set up first and what comes and goes with the size of a batch is no growth.
//
// run: keeps
// expect: warning growth message="Each of 240 steps leaves 64.0 KiB behind, 15.0 MiB in all: blocks allocated by cudaMalloc" stacks="allocated here"@keep
// run: keeps limit
// options: check --policy "max-growth-per-step 8K"
// expect: warning growth stacks="allocated here"@keep
// expect: error policy message="rule 'max-growth-per-step 8K'" stacks="allocated here"@keep
// run: keeps allowed
// options: check --policy "max-growth-per-step 1M"
// expect: warning growth
// run: ranges
// expect: warning growth message="Each of 250 steps (range step) leaves 65.0 KiB behind, 15.9 MiB in all"
// run: ring
// expect: clean
// run: cache
// expect: clean
// run: setup
// expect: clean
// run: parts
// expect: clean
// run: ragged
// expect: clean
// run: bursts
// expect: clean
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <deque>

static std::deque<void*> kept;

static void keep(size_t bytes) {
  void* block = nullptr;
  cudaMalloc(&block, bytes);
  cudaMemset(block, 0, bytes);
  kept.push_back(block);
}

static void drop_oldest() {
  cudaFree(kept.front());
  kept.pop_front();
}

static void work(size_t bytes) {
  void* temporary = nullptr;
  cudaMalloc(&temporary, bytes);
  cudaMemset(temporary, 0, bytes);
  cudaFree(temporary);
}

static __global__ void fill(int* values) { values[threadIdx.x] = 1; }

static void keep_filled() {
  int* block = nullptr;
  cudaMalloc(&block, 64 * sizeof *block);
  fill<<<1, 64>>>(block);
  kept.push_back(block);
}

int main(int, char** arguments) {
  const auto is = [arguments](const char* word) { return std::strcmp(arguments[1], word) == 0; };
  if (is("setup")) {
    for (int i = 0; i < 400; ++i) keep(1 << 16);
  }
  int steps = is("ranges") ? 250 : 960;
  if (is("parts")) { // all that it does is to make what it needs
    for (int i = 0; i < 400; ++i) keep_filled();
    steps = 0;
  }
  for (int i = 0; i < steps; ++i) {
    if (is("ranges")) nvtxRangePushA("step");
    work(1 << 16);
    if (is("keeps") && i % 4 == 0) keep(1 << 16);
    if (is("ranges")) keep((1 << 16) + 1024);
    if (is("ring")) { // the last hundred results
      keep(1 << 16);
      if (kept.size() > 100) drop_oldest();
    }
    if (is("cache") && (i < 200 || (i < 500 && i % 4 == 0) || i % 16 == 0)) keep(1 << 16); // by key, ever fewer new ones
    if (is("ragged")) {
      keep(1024 * (1 + i * 7919 % 64));
      drop_oldest();
    }
    if (is("bursts")) { // a list that is evaluated and emptied now and then
      keep(1 << 16);
      if (i % 300 == 299) {
        while (!kept.empty()) drop_oldest();
      }
    }
    if (is("ranges")) nvtxRangePop();
  }
  while (!kept.empty()) drop_oldest();
  return 0;
}
