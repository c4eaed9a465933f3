// SPDX-License-Identifier: Apache-2.0
// malloc, free, new and delete in kernels: lists, buffers of blocks, memory that lives over
// launches.
#include "torture.h"

struct Node {
  int value;
  Node* next;
};

__global__ void lists(int* out) {
  Node* head = nullptr;
  for (int k = 0; k <= static_cast<int>(threadIdx.x % 8); ++k) {
    Node* node = static_cast<Node*>(malloc(sizeof(Node)));
    if (node == nullptr) return;
    node->value = k * k + static_cast<int>(threadIdx.x);
    node->next = head;
    head = node;
  }
  int sum = 0;
  while (head != nullptr) {
    Node* next = head->next;
    sum = sum * 2 + head->value;
    free(head);
    head = next;
  }
  out[threadIdx.x] = sum;
}

__global__ void buffer_of_a_block(int* out) {
  __shared__ int* buffer;
  if (threadIdx.x == 0) buffer = static_cast<int*>(malloc(blockDim.x * sizeof(int)));
  __syncthreads();
  if (buffer == nullptr) return;
  buffer[threadIdx.x] = static_cast<int>(threadIdx.x + blockIdx.x);
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) free(buffer);
}

__global__ void make_arrays(double** arrays) {
  double* array = new double[threadIdx.x + 1];
  for (unsigned k = 0; k <= threadIdx.x; ++k) array[k] = k * 0.5;
  arrays[threadIdx.x] = array;
}

__global__ void use_arrays(double* const* arrays, double* out) {
  double sum = 0;
  for (unsigned k = 0; k <= threadIdx.x; ++k) sum += arrays[threadIdx.x][k];
  out[threadIdx.x] = sum;
}

__global__ void delete_arrays(double** arrays, int* out) {
  delete[] arrays[31 - threadIdx.x];
  out[threadIdx.x] = 1;
}

struct Counted {
  int* ended;
  __device__ explicit Counted(int* e) : ended(e) {}
  __device__ ~Counted() { atomicAdd(ended, 1); }
};

__global__ void objects(int* ended) {
  auto* one = new Counted(ended);
  delete one;
  free(nullptr);
}

__global__ void too_large(int* out) {
  void* memory = malloc(static_cast<std::size_t>(1) << 40);
  out[threadIdx.x] = memory == nullptr ? 1 : 2;
}

// A tree in which each thread looks up what thread 0 inserted.
struct Tree {
  int key;
  Tree* child[2];
};

__global__ void trees(const int* keys, int n, int* out) {
  __shared__ Tree* root;
  if (threadIdx.x == 0) {
    root = nullptr;
    for (int k = 0; k < n; ++k) {
      Tree** at = &root;
      while (*at != nullptr && (*at)->key != keys[k]) at = &(*at)->child[keys[k] > (*at)->key];
      if (*at == nullptr) *at = new Tree{keys[k], {nullptr, nullptr}};
    }
  }
  __syncthreads();
  int depth = 0;
  const Tree* at = root;
  const int wanted = static_cast<int>(threadIdx.x);
  while (at != nullptr && at->key != wanted) {
    at = at->child[wanted > at->key];
    ++depth;
  }
  out[threadIdx.x] = at == nullptr ? -1 : depth;
}

int main() {
  torture::Array<int> out(32), blocks(96), one(1), depths(64);
  std::vector<int> want(32);
  for (int t = 0; t < 32; ++t) {
    for (int k = t % 8; k >= 0; --k) want[t] = want[t] * 2 + k * k + t;
  }
  lists<<<1, 32>>>(out);
  torture::expect("lists", out, want);
  want.resize(96);
  for (int i = 0; i < 96; ++i) want[i] = 31 - i % 32 + i / 32;
  buffer_of_a_block<<<3, 32>>>(blocks);
  torture::expect("buffer_of_a_block", blocks, want);

  torture::Array<double*> arrays(32);
  torture::Array<double> sums(32);
  std::vector<double> want_sums(32);
  for (int t = 0; t < 32; ++t) want_sums[t] = t * (t + 1) / 4.0;
  make_arrays<<<1, 32>>>(arrays);
  use_arrays<<<1, 32>>>(arrays, sums);
  torture::expect("use_arrays", sums, want_sums);
  delete_arrays<<<1, 32>>>(arrays, out);
  torture::expect("delete_arrays", out, std::vector<int>(32, 1));
  objects<<<2, 32>>>(one);
  torture::expect("objects", one, {64});
  too_large<<<1, 32>>>(out);
  torture::expect("too_large", out, std::vector<int>(32, 1));

  const auto keys = torture::numbers_below<int>(40, 1, 64);
  torture::Array<int> dkeys(keys);
  trees<<<1, 64>>>(dkeys, 40, depths);
  // The depth of a key is how often the interval around it was cut before it came.
  want.assign(64, -1);
  for (int key = 0; key < 64; ++key) {
    int low = -1, high = 64, depth = 0;
    for (const int k : keys) {
      if (k == key) {
        want[key] = depth;
        break;
      }
      if (k <= low || k >= high) continue;
      ++depth;
      if (k < key) low = k;
      if (k > key) high = k;
    }
  }
  torture::expect("trees", depths, want);
  return torture::finish();
}
