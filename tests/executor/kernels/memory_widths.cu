// SPDX-License-Identifier: Apache-2.0
// Loads and stores of all widths and vectors, structures, and bytes at odd addresses.
#include "torture.h"

template <class T> __global__ void copy_vectors(const T* in, T* out, int n) {
  const int i = global_index();
  if (i < n) out[n - 1 - i] = in[i];
}

struct Mixed {
  char c;
  short s;
  int i;
  double d;
  unsigned char tail[3];
};

__global__ void mixed_structures(const Mixed* in, Mixed* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  Mixed m = in[i];
  m.c = static_cast<char>(m.c + 1);
  m.s = static_cast<short>(m.s * 2);
  m.i -= 3;
  m.d *= 0.5;
  m.tail[i % 3] ^= 0xff;
  out[i] = m;
}

__global__ void odd_bytes(const unsigned char* in, unsigned char* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  unsigned char bytes[7];
  memcpy(bytes, in + 7 * i, 7);
  for (int k = 0; k < 7; ++k) out[7 * i + k] = bytes[6 - k];
}

__global__ void volatile_words(volatile int* data, int n) {
  const int i = global_index();
  if (i >= n) return;
  for (int k = 0; k < 4; ++k) data[i] = data[i] + k;
}

__global__ void fill_by_memset(char* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  memset(out + 16 * i, i, static_cast<std::size_t>(i % 17));
}

template <class T> void run(const char* name) {
  const int n = 256;
  const auto bytes = torture::numbers<unsigned char>(n * sizeof(T), 9);
  std::vector<T> in(n), want(n);
  std::memcpy(in.data(), bytes.data(), bytes.size());
  for (int i = 0; i < n; ++i) want[n - 1 - i] = in[i];
  torture::Array<T> din(in), out(n);
  copy_vectors<<<2, 128>>>(din.get(), out.get(), n);
  torture::expect(name, out, want);
}

int main() {
  run<char2>("copy_char2");
  run<uchar4>("copy_uchar4");
  run<short2>("copy_short2");
  run<int2>("copy_int2");
  run<float3>("copy_float3");
  run<float4>("copy_float4");
  run<double2>("copy_double2");
  run<longlong2>("copy_longlong2");
  const int n = 200;
  std::vector<Mixed> in(n), want(n);
  std::memset(in.data(), 0, n * sizeof(Mixed));
  for (int i = 0; i < n; ++i) {
    in[i].c = static_cast<char>(i);
    in[i].s = static_cast<short>(i * 3);
    in[i].i = i * 1000;
    in[i].d = i * 1.25;
    in[i].tail[0] = in[i].tail[1] = in[i].tail[2] = static_cast<unsigned char>(i);
  }
  torture::Array<Mixed> din(in), out(n);
  mixed_structures<<<2, 128>>>(din, out, n);
  const auto got = out.host();
  bool good = true;
  for (int i = 0; i < n; ++i) {
    good = good && got[i].c == static_cast<char>(in[i].c + 1) && got[i].s == in[i].s * 2 &&
           got[i].i == in[i].i - 3;
    good = good && got[i].d == in[i].d * 0.5 && got[i].tail[i % 3] == (in[i].tail[0] ^ 0xff);
    good = good && got[i].tail[(i + 1) % 3] == in[i].tail[0];
  }
  torture::report("mixed_structures", good);

  const auto bytes = torture::numbers<unsigned char>(7 * n, 5);
  std::vector<unsigned char> reversed(7 * n);
  for (int i = 0; i < 7 * n; ++i) reversed[i] = bytes[i / 7 * 7 + 6 - i % 7];
  torture::Array<unsigned char> dbytes(bytes), dreversed(7 * n);
  odd_bytes<<<2, 128>>>(dbytes, dreversed, n);
  torture::expect("odd_bytes", dreversed, reversed);

  torture::Array<int> words(n);
  volatile_words<<<2, 128>>>(words, n);
  torture::expect("volatile_words", words, std::vector<int>(n, 6));

  std::vector<char> filled(16 * n + 16);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i % 17; ++k) filled[16 * i + k] = static_cast<char>(i);
  }
  torture::Array<char> dfilled(16 * n + 16);
  fill_by_memset<<<2, 128>>>(dfilled, n);
  torture::expect("fill_by_memset", dfilled, filled);
  return torture::finish();
}
