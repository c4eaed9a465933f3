// SPDX-License-Identifier: Apache-2.0
// One mistake inside a kernel for each word, none of which CUDA or a compiler sees. The simulated device executes the
// kernels and names each by its line, thread and memory; without a word, and with "clean", all kernels are right.
//   freed         is given a buffer that was freed            misaligned    reads an int at an odd address
//   unset-input   reads a buffer of which half was filled     unset-tile    adds up shared memory that was filled in part
//   race          reads values of others too early            left-barrier  leaves some threads out of a barrier
//   past-tile     writes behind an array in shared memory     past-stack    reads behind an array of its own
//   heap-twice    frees memory of malloc twice                heap-past     writes behind memory of malloc
//   heap-freed    uses memory of malloc after its free        trap          stops at an impossible value
//
// unlike-fenced: accesses that the executor finds in a kernel meet the fence first
// run:
// expect: clean
// run: clean
// expect: clean
// run: freed
// device: simulated
// expect: error kernel-use-after-free count=128 message="at the beginning of memory that was already freed" stacks="accessed here"@scale:LINE(scale),"launched here"@freed:LINE(launch-freed),"freed here"@freed:LINE(free),"allocated here"@upload:LINE(alloc)
// run: misaligned
// device: simulated
// expect: error kernel-misaligned count=6 message="which is no multiple of 4" stacks="accessed here"@unpack:LINE(unpack),"launched here"@misaligned:LINE(launch-unpack),"allocated here"@upload:LINE(alloc)
// not-checked: leak
// run: unset-input
// device: simulated
// expect: warning kernel-uninitialized-read count=32 message="that nothing wrote" stacks="accessed here"@scale:LINE(scale),"used here"@scale:LINE(scale),"launched here"@unset_input:LINE(launch-unset),"allocated here"@unset_input:LINE(alloc-unset)
// run: unset-tile
// device: simulated
// expect: warning kernel-uninitialized-read message="of shared memory" stacks="accessed here"@sum:LINE(sum),"used here"@sum:LINE(total),"launched here"@tiles:LINE(launch-tile)
// run: race
// device: simulated
// expect: error shared-race message="without a barrier behind a store by another thread" stacks="accessed here"@largest:LINE(read),"first accessed here","launched here"@tiles:LINE(launch-largest)
// run: left-barrier
// device: simulated
// expect: error barrier-divergence message="that others never reach" stacks="waited here"@even_out:LINE(inner),"waited here"@even_out:LINE(outer),"launched here"@tiles:LINE(launch-barrier)
// run: past-tile
// device: simulated
// expect: error kernel-out-of-bounds message="of the variable" stacks="accessed here"@count_values:LINE(count),"launched here"@tiles:LINE(launch-count)
// run: past-stack
// device: simulated
// expect: error kernel-out-of-bounds message="of local memory" stacks="accessed here"@mirror:LINE(mirror),"launched here"@tiles:LINE(launch-mirror)
// run: heap-twice
// device: simulated
// expect: error device-heap-double-free count=1 stacks="freed again here"@use_heap:LINE(twice),"first freed here"@use_heap:LINE(once),"allocated here"@use_heap:LINE(malloc),"launched here"@heap:LINE(launch-heap)
// not-checked: leak
// run: heap-past
// device: simulated
// expect: error kernel-out-of-bounds count=1 message="right behind the end of 64 bytes of the device heap" stacks="accessed here"@use_heap:LINE(past),"allocated here"@use_heap:LINE(malloc),"launched here"@heap:LINE(launch-heap)
// run: heap-freed
// device: simulated
// expect: error kernel-use-after-free count=1 message="at the beginning of memory that was already freed: 64 bytes of the device heap" stacks="accessed here"@use_heap:LINE(after),"freed here"@use_heap:LINE(once),"allocated here"@use_heap:LINE(malloc),"launched here"@heap:LINE(launch-heap)
// run: trap
// device: simulated
// expect: error kernel-fault message="by a trap" stacks="failed here"@square_root:LINE(trap),"launched here"@trap:LINE(launch-trap)
// not-checked: leak
#include <cstdio>
#include <cstring>

#include "check.h"

constexpr int kValues = 64;

__global__ void scale(float* values, float by) {
  values[threadIdx.x] *= by; // @scale
}

// Records of 5 bytes: a kind, and a number that lies where it falls.
__global__ void unpack(const char* records, int* numbers, bool aligned) {
  const char* number = records + 5 * threadIdx.x + 1;
  if (aligned) {
    for (int i = 0; i < 4; ++i) reinterpret_cast<char*>(numbers + threadIdx.x)[i] = number[i];
  } else {
    numbers[threadIdx.x] = *reinterpret_cast<const int*>(number); // @unpack
  }
}

__global__ void sum(const float* values, float* result, int filled) {
  __shared__ float tile[kValues];
  if (threadIdx.x < filled) tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = 0;
  for (int i = 0; i < kValues; ++i) total += tile[i]; // @sum
  *result = total; // @total
}

__global__ void largest(const float* values, float* result, bool waits) {
  __shared__ float tile[kValues];
  tile[threadIdx.x] = values[threadIdx.x];
  if (waits) __syncthreads();
  if (threadIdx.x != kValues - 1) return;
  float most = 0;
  for (int i = 0; i < kValues; ++i) most = fmaxf(most, tile[i]); // @read
  *result += most;
}

__global__ void even_out(float* values, int count) {
  __shared__ float tile[kValues];
  const int i = threadIdx.x;
  tile[i] = values[i];
  if (i < count) {
    __syncthreads(); // @inner
    values[i] = (tile[i] + tile[kValues - 1 - i]) / 2;
  }
  __syncthreads(); // @outer
  values[i] += 1;
}

__global__ void count_values(const float* values, int* counts, int kinds) {
  __shared__ int table[16];
  if (threadIdx.x < 16) table[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&table[static_cast<int>(values[threadIdx.x]) % kinds], 1); // @count
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x] = table[threadIdx.x];
}

__global__ void mirror(float* values, int count, int first) {
  float own[8];
  for (int i = 0; i < 8; ++i) own[i] = values[8 * threadIdx.x + i];
  for (int i = 0; i < count; ++i) values[8 * threadIdx.x + i] = own[first - i]; // @mirror
}

enum class Heap { kRight, kTwice, kPast, kFreed };

__global__ void use_heap(int* result, Heap what) {
  auto* block = static_cast<int*>(malloc(16 * sizeof(int))); // @malloc
  if (block == nullptr) return;
  for (int i = 0; i < 16; ++i) block[i] = i;
  if (what == Heap::kPast) block[16] = 16; // @past
  *result = block[15];
  free(block); // @once
  if (what == Heap::kFreed) *result = *static_cast<volatile int*>(block); // @after
  if (what == Heap::kTwice) free(block); // @twice
}

__global__ void square_root(float* values) {
  if (values[threadIdx.x] < 0) __trap(); // @trap
  values[threadIdx.x] = sqrtf(values[threadIdx.x]);
}

static bool planted(const char* what, const char* word) { return std::strcmp(what, word) == 0; }

static float* upload(float first) {
  float host[kValues], *values = nullptr;
  for (int i = 0; i < kValues; ++i) host[i] = first + static_cast<float>(i);
  CHECK(cudaMalloc(&values, sizeof host)); // @alloc
  CHECK(cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice));
  return values;
}

static void freed() {
  float* values = upload(0);
  CHECK(cudaFree(values)); // @free
  scale<<<1, kValues>>>(values, 2); // @launch-freed
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer != cudaSuccess) std::printf("a freed buffer: %s\n", cudaGetErrorName(answer));
}

static void unset_input(bool wrong) {
  float* values = nullptr;
  CHECK(cudaMalloc(&values, kValues * sizeof(float))); // @alloc-unset
  CHECK(cudaMemset(values, 0, (wrong ? kValues / 2 : kValues) * sizeof(float)));
  scale<<<1, kValues>>>(values, 2); // @launch-unset
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}

static void misaligned(bool wrong) {
  auto* records = reinterpret_cast<char*>(upload(1));
  int* numbers = nullptr;
  CHECK(cudaMalloc(&numbers, 8 * sizeof(int)));
  unpack<<<1, 8>>>(records, numbers, !wrong); // @launch-unpack
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer != cudaSuccess) std::printf("an odd address: %s\n", cudaGetErrorName(answer));
  cudaFree(records);
  cudaFree(numbers);
}

static void tiles(const char* what) {
  float *values = upload(1), *result = nullptr;
  int* counts = nullptr;
  CHECK(cudaMalloc(&result, sizeof *result));
  CHECK(cudaMalloc(&counts, 16 * sizeof *counts));
  sum<<<1, kValues>>>(values, result, planted(what, "unset-tile") ? kValues - 3 : kValues); // @launch-tile
  largest<<<1, kValues>>>(values, result, !planted(what, "race")); // @launch-largest
  count_values<<<1, kValues>>>(values, counts, planted(what, "past-tile") ? 20 : 16); // @launch-count
  mirror<<<1, 8>>>(values, 8, planted(what, "past-stack") ? 8 : 7); // @launch-mirror
  even_out<<<1, kValues>>>(values, planted(what, "left-barrier") ? 40 : kValues); // @launch-barrier
  CHECK(cudaDeviceSynchronize());
  float total = 0;
  CHECK(cudaMemcpy(&total, result, sizeof total, cudaMemcpyDeviceToHost));
  if (what[0] == 'c') std::printf("the sum is %g\n", total);
  CHECK(cudaFree(values));
  CHECK(cudaFree(result));
  CHECK(cudaFree(counts));
}

static void heap(Heap what) {
  int* result = nullptr;
  CHECK(cudaMalloc(&result, sizeof *result));
  use_heap<<<1, 1>>>(result, what); // @launch-heap
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer != cudaSuccess) std::printf("the device heap: %s\n", cudaGetErrorName(answer));
  cudaFree(result);
}

static void trap(float first) {
  float* values = upload(first);
  square_root<<<1, kValues>>>(values); // @launch-trap
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer != cudaSuccess) std::printf("a negative value: %s\n", cudaGetErrorName(answer));
  cudaFree(values);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "clean";
  if (planted(what, "freed")) {
    freed();
    return 0;
  }
  misaligned(planted(what, "misaligned"));
  if (planted(what, "misaligned")) return 0;
  unset_input(planted(what, "unset-input"));
  tiles(what);
  if (planted(what, "heap-twice")) heap(Heap::kTwice);
  else if (planted(what, "heap-past")) heap(Heap::kPast);
  else if (planted(what, "heap-freed")) heap(Heap::kFreed);
  else heap(Heap::kRight);
  if (!planted(what, "heap-twice")) trap(planted(what, "trap") ? -1 : 0);
  return 0;
}
