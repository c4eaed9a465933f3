// SPDX-License-Identifier: Apache-2.0
// libcu++: atomics with orders and scopes, semaphores, and its standard library.
#include <cuda/atomic>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>

#include "torture.h"

__global__ void atomic_ref_orders(int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> total(out[0]);
  total.fetch_add(2, cuda::memory_order_relaxed);
  cuda::atomic_ref<int, cuda::thread_scope_device> largest(out[1]);
  largest.fetch_max(static_cast<int>(threadIdx.x), cuda::memory_order_acq_rel);
  cuda::atomic_ref<int, cuda::thread_scope_system> bits(out[2]);
  bits.fetch_or(1 << (threadIdx.x % 31));
  int expected = 0;
  cuda::atomic_ref<int, cuda::thread_scope_device> first(out[3]);
  if (first.compare_exchange_strong(expected, 9)) out[4] = 1;
}

__global__ void message_by_release(int* data, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    data[threadIdx.x] = static_cast<int>(threadIdx.x) * 3;
    __syncthreads();
    if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    out[threadIdx.x] = data[63 - threadIdx.x];
  }
}

__global__ void atomic_float_and_64(double* sum, unsigned long long* bits) {
  cuda::atomic_ref<double, cuda::thread_scope_device>(*sum).fetch_add(0.5);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_block>(bits[blockIdx.x])
    .fetch_xor(1ull << threadIdx.x);
}

__global__ void binary_semaphores(int* out) {
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  __shared__ alignas(8) unsigned char memory[sizeof(Semaphore)];
  auto* semaphore = reinterpret_cast<Semaphore*>(memory);
  __shared__ volatile int total;
  if (threadIdx.x == 0) {
    new (semaphore) Semaphore(1);
    total = 0;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    semaphore->acquire();
    total = total + 5;
    semaphore->release();
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}

__global__ void standard_types(const int* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const cuda::std::array<int, 4> quad = {in[i], in[(i + 1) % n], in[(i + 2) % n], 4};
  const cuda::std::span<const int> view(quad.data(), 3);
  int sum = 0;
  for (const int value : view) sum += value;
  const auto pair = cuda::std::make_tuple(sum, cuda::std::popcount(static_cast<unsigned>(sum)));
  const cuda::std::optional<int> maybe = i % 2 ? cuda::std::optional<int>(i) : cuda::std::nullopt;
  out[i] = cuda::std::get<0>(pair) + cuda::std::get<1>(pair) * 10000 + maybe.value_or(-1) +
           cuda::std::numeric_limits<short>::max();
}

__global__ void complex_numbers(const double* in, double* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  const cuda::std::complex<double> z(in[2 * i], in[2 * i + 1]);
  const cuda::std::complex<double> w = z * z + cuda::std::conj(z);
  out[2 * i] = w.real();
  out[2 * i + 1] = w.imag();
}

int main() {
  torture::Array<int> out(5), data(64), flag(1), copied(64), one(1);
  atomic_ref_orders<<<2, 64>>>(out);
  torture::expect("atomic_ref_orders", out, {256, 63, 0x7fffffff, 9, 1});
  std::vector<int> want(64);
  for (int t = 0; t < 64; ++t) want[t] = 3 * (63 - t);
  message_by_release<<<2, 64>>>(data, flag, copied);
  torture::expect("message_by_release", copied, want);
  torture::Array<double> sum(1);
  torture::Array<unsigned long long> bits(2);
  atomic_float_and_64<<<2, 64>>>(sum, bits);
  torture::expect("atomic_float", sum, {64.0});
  torture::expect("atomic_64", bits, {~0ull, ~0ull});
  binary_semaphores<<<1, 128>>>(one);
  torture::expect("binary_semaphores", one, {20});

  const int n = 200;
  const auto in = torture::numbers_below<int>(n, 1, 1000);
  torture::Array<int> din(in), types(n);
  want.resize(n);
  for (int i = 0; i < n; ++i) {
    const int three = in[i] + in[(i + 1) % n] + in[(i + 2) % n];
    want[i] =
      three + __builtin_popcount(static_cast<unsigned>(three)) * 10000 + (i % 2 ? i : -1) + 32767;
  }
  standard_types<<<2, 128>>>(din, types, n);
  torture::expect("standard_types", types, want);

  std::vector<double> z(2 * n), want_z(2 * n);
  for (int i = 0; i < n; ++i) {
    const double re = z[2 * i] = i % 9 - 4; // whole numbers: exact
    const double im = z[2 * i + 1] = i % 5 - 2;
    want_z[2 * i] = re * re - im * im + re;
    want_z[2 * i + 1] = 2 * re * im - im;
  }
  torture::Array<double> dz(z), w(2 * n);
  complex_numbers<<<2, 128>>>(dz, w, n);
  torture::expect_near("complex_numbers", w, want_z, 0);

  return torture::finish();
}
