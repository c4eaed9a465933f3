// SPDX-License-Identifier: Apache-2.0
// What the programs of this folder share: device arrays, random numbers, and comparing results with
// what the host computed. Each kernel that is right prints "ok NAME"; exit status 1 if one is not.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#define OK(call) ::torture::require((call), #call, __LINE__)

namespace torture {

inline int failures = 0;

inline void require(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::printf("line %d: %s: %s\n", line, what, cudaGetErrorString(error));
  std::exit(1);
}

// Device memory; zero at first.
template <class T> class Array {
public:
  explicit Array(std::size_t size) : size_(size) {
    OK(cudaMalloc(&data_, size * sizeof(T)));
    OK(cudaMemset(data_, 0, size * sizeof(T)));
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    OK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data_); }

  T* get() const { return data_; }
  operator T*() const { return data_; }
  std::size_t size() const { return size_; }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    OK(cudaGetLastError());
    OK(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

private:
  T* data_ = nullptr;
  std::size_t size_;
};

inline void report(const char* name, bool good) {
  std::printf("%s %s\n", good ? "ok" : "WRONG", name);
  if (!good) ++failures;
}

// Bit by bit: NaN is equal to the same NaN.
template <class T> void expect(const char* name, const std::vector<T>& got,
                               const std::vector<T>& want) {
  std::size_t wrong = got.size() == want.size() ? 0 : 1;
  for (std::size_t i = 0; i < got.size() && i < want.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
    if (wrong++ == 0) std::printf("%s: element %zu differs\n", name, i);
  }
  report(name, wrong == 0);
}

template <class T> void expect(const char* name, const Array<T>& got, const std::vector<T>& want) {
  expect(name, got.host(), want);
}

// Up to a relative error, or the same error absolutely below 1.
template <class T> void expect_near(const char* name, const Array<T>& got,
                                    const std::vector<T>& want, double error) {
  const std::vector<T> values = got.host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double a = static_cast<double>(values[i]);
    const double b = static_cast<double>(want[i]);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (same || std::fabs(a - b) <= error * std::fmax(1.0, std::fabs(b))) continue;
    if (wrong++ == 0) std::printf("%s: element %zu is %.17g, not %.17g\n", name, i, a, b);
  }
  report(name, wrong == 0);
}

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_;
};

// Any integers, or floats in [-1, 1).
template <class T> std::vector<T> numbers(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> values(size);
  for (T& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(2 * random.unit() - 1);
    } else {
      value = static_cast<T>(random.next() >> 20);
    }
  }
  return values;
}

template <class T> std::vector<T> numbers_below(std::size_t size, std::uint64_t seed,
                                                std::uint64_t limit) {
  Random random(seed);
  std::vector<T> values(size);
  for (T& value : values) value = static_cast<T>(random.next() % limit);
  return values;
}

inline int finish() {
  OK(cudaDeviceSynchronize());
  return failures == 0 ? 0 : 1;
}

} // namespace torture

// The kernel's index in one dimension.
__device__ inline int global_index() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}
