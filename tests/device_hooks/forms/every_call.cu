// SPDX-License-Identifier: Apache-2.0
// Every way to write an allocation in a kernel, beside host code that uses the same names.
// test_forms.py counts the calls in PTX. Built whole-program and, with second_file.cu, from several
// files.
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Arena { // members of these names are the program's own
  __host__ __device__ void* malloc(std::size_t bytes) { return used += bytes, memory; }
  __host__ __device__ void free(void*) { used = 0; }
  char memory[64];
  std::size_t used = 0;
};

namespace mine {
template <typename T>
__host__ __device__ T* malloc(int n) {
  return static_cast<T*>(std::malloc(n * sizeof(T)));
}
} // namespace mine

struct Node {
  int value = 3;
  __host__ __device__ ~Node() { value = 0; }
};

__global__ void by_name(void** out) // 3 allocations (2 for clang), 2 frees
{
  out[0] = malloc(5);
  free(out[0]);
  out[1] = std::malloc(6);
  ::free(out[1]);
#if defined(__NVCC__) // clang does not know it
  out[2] = __nv_aligned_device_malloc(100, 256);
#endif
}

__global__ void by_operator(Node** out) // 2 and 2
{
  out[0] = new Node;
  delete out[0];
  out[1] = new Node[threadIdx.x];
  delete[] out[1];
}

struct alignas(64) Wide {
  int values[16];
};

__global__ void by_aligned_operator(Wide** out) // 2 and 2
{
  out[0] = new Wide;
  delete out[0];
  out[1] = new Wide[3];
  delete[] out[1];
}

__global__ void by_lambda(void** out) // 1 and 1
{
  const auto make = [](std::size_t n) { return malloc(n); };
  const auto drop = [](void* p) { free(p); };
  drop(make(out == nullptr));
}

__global__ void by_template(int** out) { out[0] = mine::malloc<int>(5); } // 1

__global__ void without(Node** out) // nothing to log
{
  Arena arena;
  out[0] = new (arena.malloc(sizeof(Node))) Node;
  arena.free(out[0]);
}

#if defined(SEVERAL_FILES)
__device__ void* allocate_elsewhere(std::size_t bytes);
__global__ void by_other_file(void** out) { out[0] = allocate_elsewhere(5); }
int host_part_elsewhere();
#endif

static int host_part() {
  void* p = malloc(10);
  if (p == nullptr) return 1;
  std::free(p);
  int* numbers = mine::malloc<int>(3);
  free(numbers);
  Arena arena;
  arena.free(arena.malloc(4));
  std::vector<std::string> words(3, std::string(100, 'x'));
  Node* node = new (arena.malloc(sizeof(Node))) Node;
  node->~Node();
  delete[] new Node[4];
  return words[2].size() == 100 && arena.used == sizeof(Node) ? 0 : 1;
}

int main() {
  int result = host_part();
#if defined(SEVERAL_FILES)
  result += host_part_elsewhere();
#endif
  return result;
}
