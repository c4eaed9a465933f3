// SPDX-License-Identifier: Apache-2.0
// Memory that a kernel's malloc gave belongs to the device heap, memory of cudaMalloc to the host's API. Neither can be
// released, or (device heap) copied and set, by the other's functions. CUDA refuses what it notices; cudaMemset it accepts.
// Variants: clean (or no word): a kernel copies from the device heap to memory of cudaMalloc, which the host reads;
//   free: cudaFree of a device-heap pointer; copy: cudaMemcpy from one; set: cudaMemset of one;
//   foreign: free in a kernel of memory from cudaMalloc, which CUDA may let pass or answer with the end of the context.
//   Optimised, launch_free() jumps to the launch and leaves no frame.
//
// device hooks: all calls
// run:
// expect: clean
// run: free
// expect: error heap-mixed count=1 api=cudaFree stacks="freed here"@main:LINE(host-free),"allocated here"@make_block:LINE(alloc),"launched here"@main:LINE(launch-make)
// run: copy
// expect: error heap-mixed count=1 api=cudaMemcpy stacks="copied here"@main:LINE(host-copy),"allocated here"@make_block:LINE(alloc),"launched here"@main:LINE(launch-make)
// run: set
// expect: error heap-mixed count=1 api=cudaMemset message="silently" stacks="set here"@main:LINE(host-set),"allocated here"@make_block:LINE(alloc),"launched here"@main:LINE(launch-make)
// run: foreign
// expect-O0: error heap-mixed count=1 message="CUDA did not notice" stacks="freed here"@free_block:LINE(free),"launched here"@launch_free:LINE(launch-free),"allocated here"@main:LINE(alloc-host),"freed by the host here"@main:LINE(host-free-late)
// expect-O2: error heap-mixed count=1 message="CUDA did not notice" stacks="freed here"@free_block:LINE(free),"launched here"@main:LINE(launch-foreign),"allocated here"@main:LINE(alloc-host),"freed by the host here"@main:LINE(host-free-late)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr int kInts = 64;

__global__ void make_block(int** block)
{
  *block = static_cast<int*>(malloc(kInts * sizeof(int))); // @alloc
  for (int i = 0; *block && i < kInts; ++i)
    (*block)[i] = i;
}

__global__ void copy_block(int* to, const int* block) { to[threadIdx.x] = block[threadIdx.x]; }

__global__ void free_block(int* block) { free(block); } // @free

static void launch_free(int* block)
{
  free_block<<<1, 1>>>(block); // @launch-free
}

int main(int count, char** words)
{
  const char* variant = count > 1 ? words[1] : "clean";
  const auto is = [&](const char* word) { return std::strcmp(variant, word) == 0; };
  int** cell = nullptr;
  int* copy = nullptr;
  CHECK(cudaMalloc(&cell, sizeof *cell));
  CHECK(cudaMalloc(&copy, kInts * sizeof(int))); // @alloc-host
  make_block<<<1, 1>>>(cell); // @launch-make
  int* block = nullptr;
  CHECK(cudaMemcpy(&block, cell, sizeof block, cudaMemcpyDeviceToHost));
  copy_block<<<1, kInts>>>(copy, block);
  int host[kInts];
  CHECK(cudaMemcpy(host, copy, sizeof host, cudaMemcpyDeviceToHost));
  std::printf("the last of %d is %d\n", kInts, host[kInts - 1]);
  if (is("free"))
    TRY(cudaFree(block)); // @host-free
  if (is("copy"))
    TRY(cudaMemcpy(host, block, sizeof host, cudaMemcpyDeviceToHost)); // @host-copy
  if (is("set"))
    TRY(cudaMemset(block, 0, kInts * sizeof(int))); // @host-set
  launch_free(block);
  CHECK(cudaDeviceSynchronize());
  if (is("foreign"))
    launch_free(copy); // @launch-foreign
  cudaError_t result = cudaDeviceSynchronize();
  if (result != cudaSuccess) {
    FAILED(result);
    return 0; // nothing can be freed any more
  }
  CHECK(cudaFree(copy)); // @host-free-late
  CHECK(cudaFree(cell));
  return 0;
}

// The other outcome of the last run. It stands here because recorded traces name the lines above.
// or: CUDA ends the context
// expect-O0: error heap-mixed count=1 message="the context died" stacks="freed here"@free_block:LINE(free),"launched here"@launch_free:LINE(launch-free),"allocated here"@main:LINE(alloc-host)
// expect-O2: error heap-mixed count=1 message="the context died" stacks="freed here"@free_block:LINE(free),"launched here"@main:LINE(launch-foreign),"allocated here"@main:LINE(alloc-host)
// not-checked: leak
