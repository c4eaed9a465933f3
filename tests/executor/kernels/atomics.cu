// SPDX-License-Identifier: Apache-2.0
// Atomic operations on global and shared memory, of all widths, with and without the old value.
#include <algorithm>

#include "torture.h"

template <class T> __global__ void atomic_operations(const T* in, T* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  atomicAdd(out, in[i]);
  atomicMin(out + 1, in[i]);
  atomicMax(out + 2, in[i]);
  atomicAnd(out + 3, in[i] | T(0xff));
  atomicOr(out + 4, in[i] & T(0xffff));
  atomicXor(out + 5, in[i]);
  if (i == n / 2) atomicExch(out + 6, in[i]);
  if (atomicCAS(out + 7, T(0), T(1)) == T(0)) atomicAdd(out + 8, T(1)); // one thread is first
}

__global__ void tickets(unsigned* counter, unsigned* seen, int n) {
  if (global_index() < n) seen[atomicAdd(counter, 1u)] += 1;
}

__global__ void wrapping(unsigned* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  atomicInc(out, 6u);
  atomicDec(out + 1, 9u);
  atomicSub(out + 2, 3u);
}

template <class T> __global__ void atomic_floats(const T* in, T* out, int n) {
  __shared__ T sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const int i = global_index();
  if (i < n) atomicAdd(&sum, in[i]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void histogram_shared(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned bins[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = global_index(); i < n; i += static_cast<int>(gridDim.x * blockDim.x))
    atomicAdd(bins + in[i], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
    if (bins[i] != 0) atomicAdd(out + i, bins[i]);
  }
}

__global__ void scoped_atomics(int* out) {
  __shared__ int local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  atomicAdd_block(&local, 2);
  atomicMax_block(&local, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(out, local);
  atomicOr_system(out + 1, 1 << (threadIdx.x % 30));
}

// A maximum of floats by compare and swap.
__global__ void float_maximum(const float* in, float* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  int* word = reinterpret_cast<int*>(out);
  int old = *word;
  while (__int_as_float(old) < in[i]) {
    const int before = atomicCAS(word, old, __float_as_int(in[i]));
    if (before == old) break;
    old = before;
  }
}

__global__ void cas_16_bits(unsigned short* counters, int n) {
  const int i = global_index();
  if (i >= n) return;
  unsigned short* counter = counters + i % 3;
  unsigned short old = *counter;
  for (;;) {
    const unsigned short before = atomicCAS(counter, old, static_cast<unsigned short>(old + 1));
    if (before == old) break;
    old = before;
  }
}

struct Node {
  int value;
  int next;
};

// Pushes onto a list without a lock.
__global__ void list_push(Node* nodes, int* head, int n) {
  const int i = global_index();
  if (i >= n) return;
  nodes[i].value = i * 2;
  int old = atomicAdd(head, 0);
  do {
    nodes[i].next = old;
    __threadfence();
    const int before = atomicCAS(head, old, i);
    if (before == old) break;
    old = before;
  } while (true);
}

template <class T> void run(const char* name) {
  const int n = 700;
  auto in = torture::numbers<T>(n, 1);
  for (T& value : in) value = static_cast<T>(value % 100000 + 1);
  std::vector<T> out(9), want(9);
  out[1] = want[1] = static_cast<T>(1000000);
  out[3] = want[3] = static_cast<T>(-1);
  for (const T value : in) {
    want[0] += value;
    want[1] = std::min(want[1], value);
    want[2] = std::max(want[2], value);
    want[3] &= value | T(0xff);
    want[4] |= value & T(0xffff);
    want[5] ^= value;
  }
  want[6] = in[n / 2];
  want[7] = want[8] = 1;
  torture::Array<T> din(in), dout(out);
  atomic_operations<<<6, 128>>>(din.get(), dout.get(), n);
  torture::expect(name, dout, want);
}

int main() {
  run<int>("atomic_operations_s32");
  run<unsigned>("atomic_operations_u32");
  run<unsigned long long>("atomic_operations_u64");
  const int n = 700;
  torture::Array<unsigned> counter(1), seen(n), wraps(3);
  tickets<<<6, 128>>>(counter, seen, n);
  torture::expect("tickets", seen, std::vector<unsigned>(n, 1));
  wrapping<<<6, 128>>>(wraps, n);
  unsigned down = 0;
  for (int i = 0; i < n; ++i) down = down == 0 || down > 9 ? 9 : down - 1;
  torture::expect("wrapping", wraps, {n % 7, down, 0u - 3u * n});

  const auto floats = torture::numbers_below<float>(n, 2, 100);
  const auto doubles = torture::numbers_below<double>(n, 3, 100);
  float float_sum = 0;
  double double_sum = 0;
  for (int i = 0; i < n; ++i) {
    float_sum += floats[i];
    double_sum += doubles[i];
  }
  torture::Array<float> dfloats(floats), fsum(1);
  torture::Array<double> ddoubles(doubles), dsum(1);
  atomic_floats<<<6, 128>>>(dfloats.get(), fsum.get(), n);
  torture::expect("atomic_floats_f32", fsum, {float_sum});
  atomic_floats<<<6, 128>>>(ddoubles.get(), dsum.get(), n);
  torture::expect("atomic_floats_f64", dsum, {double_sum});

  const auto bytes = torture::numbers<unsigned char>(4000, 4);
  std::vector<unsigned> bins(256);
  for (const unsigned char byte : bytes) ++bins[byte];
  torture::Array<unsigned char> dbytes(bytes);
  torture::Array<unsigned> dbins(256);
  histogram_shared<<<4, 128>>>(dbytes, dbins, 4000);
  torture::expect("histogram_shared", dbins, bins);

  torture::Array<int> scoped(2);
  scoped_atomics<<<3, 64>>>(scoped);
  torture::expect("scoped_atomics", scoped, {3 * 128, (1 << 30) - 1});

  const auto random = torture::numbers<float>(n, 5);
  torture::Array<float> drandom(random), maximum(1);
  float_maximum<<<6, 128>>>(drandom, maximum, n);
  torture::expect("float_maximum", maximum, {*std::max_element(random.begin(), random.end())});

  torture::Array<unsigned short> shorts(4);
  cas_16_bits<<<6, 128>>>(shorts, n);
  torture::expect("cas_16_bits", shorts, {234, 233, 233, 0});

  torture::Array<Node> nodes(n);
  torture::Array<int> head(std::vector<int>{-1});
  list_push<<<6, 128>>>(nodes, head, n);
  const auto list = nodes.host();
  std::vector<int> found(n);
  int steps = 0;
  for (int at = head.host()[0]; at >= 0 && steps <= n; at = list[at].next, ++steps)
    found[at] += list[at].value == 2 * at;
  torture::report("list_push", steps == n && found == std::vector<int>(n, 1));
  return torture::finish();
}
