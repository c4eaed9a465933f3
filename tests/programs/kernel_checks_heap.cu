// SPDX-License-Identifier: Apache-2.0
// --kernel-checks: malloc and free in kernels leave records and mark the bytes of their blocks, though the program was
// compiled without device_hooks. On the simulated device frees are found by them, too: it leaves the heap to code that logs.
// There the device itself sees mistaken accesses as well, in the checked form, which is no second finding. They are loads:
// what lies beside a block is the allocator's.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run:
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error device-heap-leak count=3 bytes=48 stacks="allocated here"@keep:LINE(malloc),"launched here"@main:LINE(keep)
// expect: error device-heap-leak count=1 bytes=24 message="allocated by malloc in launch 1 of make(Made**)"
// run: wrong on-a-gpu
// device: gpu
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 message="right behind the end of 64 bytes of the device heap" stacks="accessed here"@look:LINE(behind),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// expect: error kernel-out-of-bounds count=1 message="4 bytes before the beginning of 64 bytes of the device heap" stacks="accessed here"@look:LINE(before),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// expect: error kernel-out-of-bounds count=3 message="right behind the end of 21 bytes of the device heap" stacks="accessed here"@look:LINE(tail),"allocated here"@look:LINE(malloc-odd),"launched here"@main:LINE(look)
// expect: error kernel-use-after-free count=1 message="20 bytes into memory that was already freed: 64 bytes of the device heap" stacks="accessed here"@look:LINE(freed),"freed here"@look:LINE(free),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// run: wrong
// device: simulated
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 message="right behind the end of 64 bytes of the device heap" stacks="accessed here"@look:LINE(behind),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// expect: error kernel-out-of-bounds count=1 message="4 bytes before the beginning of 64 bytes of the device heap" stacks="accessed here"@look:LINE(before),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// expect: error kernel-out-of-bounds count=3 message="right behind the end of 21 bytes of the device heap" stacks="accessed here"@look:LINE(tail),"allocated here"@look:LINE(malloc-odd),"launched here"@main:LINE(look)
// expect: error kernel-use-after-free count=1 message="20 bytes into memory that was already freed: 64 bytes of the device heap" stacks="accessed here"@look:LINE(freed),"freed here"@look:LINE(free),"allocated here"@look:LINE(malloc-look),"launched here"@main:LINE(look)
// run: right
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
#include "answers.h"

#include <cstring>

__global__ void keep(int** to) {
  to[threadIdx.x] = static_cast<int*>(malloc(16)); // @malloc
  *to[threadIdx.x] = 1;
}
__global__ void give_back(int** from, int n) {
  if (threadIdx.x < n) free(from[threadIdx.x]);
}
struct Made {
  double values[3];
};
__global__ void make(Made** to) {
  *to = new Made{};
  delete new Made{};
}

__global__ void look(int* seen) {
  void* const first = malloc(32); // @malloc-first
  volatile int* const block = static_cast<volatile int*>(malloc(64)); // @malloc-look
  volatile char* const odd = static_cast<volatile char*>(malloc(21)); // @malloc-odd
  for (int i = 0; i < 16; ++i) block[i] = i;
  odd[20] = 1;
  seen[0] = block[15] + odd[20];
  seen[1] = block[16]; // @behind
  seen[2] = block[-1]; // @before
  for (int i = 21; i < 24; ++i) seen[i] = odd[i]; // @tail
  free(const_cast<int*>(block)); // @free
  seen[4] = block[5]; // @freed
  free(const_cast<char*>(odd));
  free(first);
}

// Blocks of many sizes come and go; what one thread has allocated another one uses and frees.
__global__ void come_and_go(int** shelf, int* wrong) {
  const int me = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int round = 0; round < 6; ++round) {
    const int count = 1 + (me * 7 + round * 13) % 90;
    int* const block = static_cast<int*>(malloc(sizeof(int) * count));
    if (block == nullptr) return;
    for (int i = 0; i < count; ++i) block[i] = me;
    shelf[me] = block;
    __syncthreads();
    const int other = static_cast<int>(blockIdx.x * blockDim.x + (threadIdx.x + 5) % blockDim.x);
    const int others = 1 + (other * 7 + round * 13) % 90;
    for (int i = 0; i < others; ++i) {
      if (shelf[other][i] != other) ++*wrong;
    }
    free(shelf[other]);
    __syncthreads();
  }
}

static int right(void* blocks) {
  void* wrong = nullptr;
  int answer = 0;
  CHECK(cudaMalloc(&wrong, sizeof(int)));
  CHECK(cudaMemset(wrong, 0, sizeof(int)));
  come_and_go<<<8, 32>>>(static_cast<int**>(blocks), static_cast<int*>(wrong));
  CHECK(cudaMemcpy(&answer, wrong, sizeof answer, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(wrong));
  CHECK(cudaFree(blocks));
  return answer == 0 ? 0 : 1;
}

int main(int count, char** words) {
  void* blocks = nullptr;
  CHECK(cudaMalloc(&blocks, 256 * sizeof(int*)));
  CHECK(cudaMemset(blocks, 0, 256 * sizeof(int*)));
  if (count > 1 && std::strcmp(words[1], "right") == 0) return right(blocks);
  if (count > 1) {
    look<<<1, 1>>>(static_cast<int*>(blocks)); // @look
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(blocks));
    return 0;
  }
  keep<<<1, 8>>>(static_cast<int**>(blocks)); // @keep
  give_back<<<1, 8>>>(static_cast<int**>(blocks), 5);
  make<<<1, 1>>>(static_cast<Made**>(blocks));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(blocks));
  return 0;
}
