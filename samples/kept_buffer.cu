// SPDX-License-Identifier: Apache-2.0
// A structure on the device keeps the address of a buffer that was freed, and a kernel uses it. CUDA
// says nothing, since something else lies in the same page of 2 MiB. With --guard nothing is mapped
// where the buffer was, and the GPU faults. Words:
//   plain, fenced    the buffer is freed by cudaFree
//   stream-fenced    the buffer is of stream-ordered memory, and freed by cudaFreeAsync
//   clean            the buffer is freed behind its last use
//
// unlike-fenced: it has runs of its own with --guard
// run: plain
// expect-real: clean
// expect-simulated: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@scale:LINE(use),"launched here"@scale_field:LINE(launch),"freed here"@drop:LINE(free),"allocated here"@make:LINE(alloc)
// run: fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@scale:LINE(use),"launched here"@scale_field:LINE(launch),"freed here"@drop:LINE(free),"allocated here"@make:LINE(alloc)
// run: stream-fenced
// options: --guard
// exit-simulated: 3
// exit-real: signal 6
// not-checked: leak
// expect: error kernel-use-after-free message="reads 4 bytes" stacks="accessed here"@scale:LINE(use),"launched here"@scale_field:LINE(launch),"freed here"@drop:LINE(free-async),"allocated here"@make:LINE(alloc-async)
// run: clean
// options: --guard
// expect: clean
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#include "check.h"

struct Field {
  float* values;
  int count;
};

constexpr int kCount = 2048;
constexpr std::size_t kBytes = kCount * sizeof(float);

__global__ void scale(const Field* field, float factor)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < field->count) field->values[i] *= factor; // @use
}

[[gnu::noinline]] static void scale_field(const Field* field)
{
  scale<<<kCount / 256, 256>>>(field, 2); // @launch
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

[[gnu::noinline]] static Field make(bool ordered)
{
  Field field{nullptr, kCount};
  if (ordered) CHECK(cudaMallocAsync(&field.values, kBytes, nullptr)); // @alloc-async
  else CHECK(cudaMalloc(&field.values, kBytes)); // @alloc
  CHECK(cudaMemset(field.values, 0, kBytes));
  return field;
}

[[gnu::noinline]] static void drop(const Field& field, bool ordered)
{
  if (ordered) CHECK(cudaFreeAsync(field.values, nullptr)); // @free-async
  else CHECK(cudaFree(field.values)); // @free
  CHECK(cudaDeviceSynchronize());
}

int main(int count_of_words, char** words)
{
  const char* word = count_of_words > 1 ? words[1] : "";
  const bool clean = std::strcmp(word, "clean") == 0;
  const bool ordered = std::strncmp(word, "stream", 6) == 0;
  Field* on_device = nullptr;
  CHECK(cudaMalloc(&on_device, sizeof(Field)));
  const Field field = make(ordered);
  CHECK(cudaMemcpy(on_device, &field, sizeof field, cudaMemcpyHostToDevice));
  scale_field(on_device);
  if (!clean) drop(field, ordered);
  scale_field(on_device);
  if (clean) drop(field, ordered);
  CHECK(cudaFree(on_device));
  std::printf("scaled twice\n");
}
