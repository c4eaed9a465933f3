// SPDX-License-Identifier: Apache-2.0
// Structures as parameters of kernels and functions: large ones, arrays in them, alignment,
// results.
#include "torture.h"

struct Inner {
  short a;
  double b;
  char c[3];
};
struct Outer {
  int n;
  Inner inner[3];
  const int* data;
  float matrix[2][3];
};
struct alignas(16) Aligned {
  float x, y, z, w;
};
struct Large {
  int values[900];
};
struct Empty {};

__global__ void structure_by_value(Outer o, double* out) {
  const int i = global_index();
  if (i >= o.n) return;
  const Inner& inner = o.inner[i % 3];
  out[i] =
    inner.a + inner.b + inner.c[i % 3] + o.data[i] + static_cast<double>(o.matrix[i % 2][i % 3]);
}

__global__ void large_parameter(Large large, int* out) {
  const int i = global_index();
  out[i] = large.values[i] + large.values[899 - i];
}

__global__ void many_parameters(char a, short b, int c, long long d, float e, double f, bool g,
                                Empty, unsigned char h, int* out) {
  out[threadIdx.x] = a + b + c + static_cast<int>(d) + static_cast<int>(e) + static_cast<int>(f) +
                     g + h + static_cast<int>(threadIdx.x);
}

__device__ __noinline__ Aligned rotated(Aligned a, int times) {
  for (int k = 0; k < times; ++k) a = Aligned{a.y, a.z, a.w, a.x};
  return a;
}

__global__ void aligned_results(const Aligned* in, Aligned* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = rotated(in[i], i % 5);
}

struct Complex {
  double re, im;
  __host__ __device__ Complex operator*(const Complex& o) const {
    return {re * o.re - im * o.im, re * o.im + im * o.re};
  }
  __host__ __device__ Complex operator+(const Complex& o) const { return {re + o.re, im + o.im}; }
};

__global__ void complex_polynomial(const Complex* in, Complex* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  Complex z{0, 0};
  for (int k = 0; k < 4; ++k) z = z * in[i] + Complex{double(k), 1};
  out[i] = z;
}

template <class T, int N> struct Vector {
  T v[N];
  __host__ __device__ T dot(const Vector& o) const {
    T sum = 0;
    for (int k = 0; k < N; ++k) sum += v[k] * o.v[k];
    return sum;
  }
};

template <class T, int N> __global__ void vector_template(Vector<T, N> by, const Vector<T, N>* in,
                                                          T* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = by.dot(in[i]);
}

int main() {
  const int n = 100;
  const auto numbers = torture::numbers_below<int>(n, 1, 1000);
  torture::Array<int> data(numbers);
  Outer o = {};
  o.n = n;
  o.data = data;
  for (int k = 0; k < 3; ++k) {
    o.inner[k].a = static_cast<short>(k * 100 - 50);
    o.inner[k].b = k * 0.125;
    for (int m = 0; m < 3; ++m) o.inner[k].c[m] = static_cast<char>(k - m);
    o.matrix[0][k] = static_cast<float>(k) * 0.5F;
    o.matrix[1][k] = static_cast<float>(k) * -2.0F;
  }
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) {
    const Inner& inner = o.inner[i % 3];
    want[i] =
      inner.a + inner.b + inner.c[i % 3] + numbers[i] + static_cast<double>(o.matrix[i % 2][i % 3]);
  }
  torture::Array<double> out(n);
  structure_by_value<<<2, 64>>>(o, out);
  torture::expect("structure_by_value", out, want);

  Large large;
  std::vector<int> want_ints(450);
  for (int i = 0; i < 900; ++i) large.values[i] = i * i;
  for (int i = 0; i < 450; ++i) want_ints[i] = large.values[i] + large.values[899 - i];
  torture::Array<int> ints(450), small(32);
  large_parameter<<<3, 150>>>(large, ints);
  torture::expect("large_parameter", ints, want_ints);

  many_parameters<<<1, 32>>>('a', -5, 1000, 1ll << 33 | 7, 2.5F, -3.5, true, Empty{}, 200, small);
  want_ints.assign(32, 0);
  for (int t = 0; t < 32; ++t) want_ints[t] = 97 - 5 + 1000 + 7 + 2 - 3 + 1 + 200 + t;
  torture::expect("many_parameters", small, want_ints);

  std::vector<Aligned> quads(n), turned(n);
  for (int i = 0; i < n; ++i) {
    const float f = static_cast<float>(i);
    quads[i] = {f, f + 0.25F, f + 0.5F, f + 0.75F};
    const float values[] = {quads[i].x, quads[i].y, quads[i].z, quads[i].w};
    const int s = i % 5;
    turned[i] = {values[s % 4], values[(s + 1) % 4], values[(s + 2) % 4], values[(s + 3) % 4]};
  }
  torture::Array<Aligned> dquads(quads), dturned(n);
  aligned_results<<<2, 64>>>(dquads, dturned, n);
  torture::expect("aligned_results", dturned, turned);

  std::vector<Complex> z(n), values(n);
  for (int i = 0; i < n; ++i) {
    z[i] = {static_cast<double>(i % 11 - 5), static_cast<double>(i % 7 - 3)}; // whole numbers:
                                                                              // exact
    Complex value{0, 0};
    for (int k = 0; k < 4; ++k) value = value * z[i] + Complex{double(k), 1};
    values[i] = value;
  }
  torture::Array<Complex> dz(z), dvalues(n);
  complex_polynomial<<<2, 64>>>(dz, dvalues, n);
  const auto got = dvalues.host();
  bool good = true;
  for (int i = 0; i < n; ++i) good = good && got[i].re == values[i].re && got[i].im == values[i].im;
  torture::report("complex_polynomial", good);

  using V = Vector<long long, 5>;
  std::vector<V> vectors(n);
  const V by = {{1, -2, 3, -4, 5}};
  std::vector<long long> dots(n);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 5; ++k) vectors[i].v[k] = i * k + 1;
    dots[i] = by.dot(vectors[i]);
  }
  torture::Array<V> dvectors(vectors);
  torture::Array<long long> ddots(n);
  vector_template<<<2, 64>>>(by, dvectors.get(), ddots.get(), n);
  torture::expect("vector_template", ddots, dots);
  return torture::finish();
}
