// SPDX-License-Identifier: Apache-2.0
// Objects for a kernel's threads in three ways: a malloc for each; one malloc for all of them; and no malloc at all, but
// indices of an array made before, handed out by counters of which each serves a column of its own. One counter for
// all threads would be where they meet; with several, each gives index = old value x columns + column, so that every
// index of the array is given exactly once. The program checks that it is.
//
// device hooks: all calls
// run:
// expect: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kObjects = 8192;
constexpr int kThreads = 256;
constexpr int kColumns = 32; // counters
constexpr int kRows = kObjects / kColumns;

struct Object {
  int owner, values[15];
};

__global__ void one_malloc_each(Object** objects)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  objects[i] = static_cast<Object*>(malloc(sizeof(Object)));
  if (objects[i])
    objects[i]->owner = i;
}

__global__ void free_each(Object** objects) { free(objects[blockIdx.x * blockDim.x + threadIdx.x]); }

__global__ void one_malloc_for_all(Object** objects)
{
  *objects = static_cast<Object*>(malloc(kObjects * sizeof(Object)));
}

__global__ void use_all(Object** objects)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (*objects)
    (*objects)[i].owner = i;
}

__global__ void free_all(Object** objects) { free(*objects); }

// A thread begins at a column of its own and goes on to the next while its counter has reached the bound.
__device__ int take_index(unsigned* counters, int first_column)
{
  for (int tried = 0; tried < kColumns; ++tried) {
    int column = (first_column + tried) % kColumns;
    unsigned row = atomicAdd(&counters[column], 1u);
    if (row < kRows)
      return static_cast<int>(row) * kColumns + column;
  }
  return -1; // all are given
}

__global__ void indices_from_counters(Object* array, int* times_given, unsigned* counters)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int index = take_index(counters, i % 7 * 4); // unevenly spread, so that columns run out
  if (index < 0)
    return;
  array[index].owner = i;
  atomicAdd(&times_given[index], 1);
}

int main()
{
  Object** objects = nullptr;
  CHECK(cudaMalloc(&objects, kObjects * sizeof(Object*)));
  one_malloc_each<<<kObjects / kThreads, kThreads>>>(objects);
  free_each<<<kObjects / kThreads, kThreads>>>(objects);
  one_malloc_for_all<<<1, 1>>>(objects);
  use_all<<<kObjects / kThreads, kThreads>>>(objects);
  free_all<<<1, 1>>>(objects);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(objects));

  Object* array = nullptr;
  int* times_given = nullptr;
  unsigned* counters = nullptr;
  CHECK(cudaMalloc(&array, kObjects * sizeof(Object)));
  CHECK(cudaMalloc(&times_given, kObjects * sizeof(int)));
  CHECK(cudaMalloc(&counters, kColumns * sizeof(unsigned)));
  CHECK(cudaMemset(times_given, 0, kObjects * sizeof(int)));
  CHECK(cudaMemset(counters, 0, kColumns * sizeof(unsigned)));
  indices_from_counters<<<kObjects / kThreads, kThreads>>>(array, times_given, counters);
  std::vector<int> given(kObjects);
  CHECK(cudaMemcpy(given.data(), times_given, kObjects * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(counters));
  CHECK(cudaFree(times_given));
  CHECK(cudaFree(array));
  int wrong = 0;
  for (int times : given)
    wrong += times != 1;
  std::printf("%d of %d indices were not given exactly once\n", wrong, kObjects);
  return wrong != 0;
}
