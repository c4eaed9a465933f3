// SPDX-License-Identifier: Apache-2.0
// Transforms, stencils, factorizations, particles, ciphers, pictures and games.
// It is one file because it is one list: a kernel of each kind, with the input that it gets.
#pragma once

#include "recorded.h"

namespace science {

// 256 complex numbers a block: eight steps of radix 2 with twiddles from a table.
__global__ void fourier(const float2* in, float2* out, const float2* twiddles) {
  __shared__ float2 s[256];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) s[__brev(i) >> 24] = in[blockIdx.x * 256 + i];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const int i = t / half * half * 2 + t % half, j = i + half;
    const float2 w = twiddles[t % half * (128 / half)], a = s[i], b = s[j];
    const float2 p = make_float2(fmaf(b.x, w.x, -b.y * w.y), fmaf(b.x, w.y, b.y * w.x));
    s[i] = make_float2(a.x + p.x, a.y + p.y);
    s[j] = make_float2(a.x - p.x, a.y - p.y);
  }
  __syncthreads();
  for (int i = t; i < 256; i += 128) out[blockIdx.x * 256 + i] = s[i];
}

// The same of integers modulo 15 * 2^27 + 1.
constexpr u32 kPrime = 2013265921;
__device__ inline u32 times(u32 a, u32 b) { return static_cast<u32>(u64{a} * b % kPrime); }
__global__ void number_transform(const u32* in, u32* out, const u32* powers) {
  __shared__ u32 s[256];
  const int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) s[__brev(i) >> 24] = in[blockIdx.x * 256 + i] % kPrime;
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const int i = t / half * half * 2 + t % half, j = i + half;
    const u32 a = s[i], b = times(s[j], powers[t % half * (128 / half)]);
    s[i] = (a + b) % kPrime;
    s[j] = (a + kPrime - b) % kPrime;
  }
  __syncthreads();
  for (int i = t; i < 256; i += 128) out[blockIdx.x * 256 + i] = s[i];
}

template <class T> __global__ void heat(const T* in, T* out, int w, int h) {
  __shared__ T tile[10][34];
  const int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 8 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    const int x = min(max(x0 + i % 34, 0), w - 1), y = min(max(y0 + i / 34, 0), h - 1);
    tile[i / 34][i % 34] = in[y * w + x];
  }
  __syncthreads();
  const int i = threadIdx.y + 1, j = threadIdx.x + 1;
  const T sum = tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] + tile[i][j + 1];
  out[(y0 + i) * w + x0 + j] = tile[i][j] + T(0.2) * (sum - T(4) * tile[i][j]);
}

// A column of planes goes by in registers.
__global__ void heat_3d(const float* in, float* out, int n) {
  __shared__ float plane[18][18];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const auto at = [&](int i, int j, int k) {
    i = (i + n) % n, j = (j + n) % n, k = (k + n) % n;
    return in[(k * n + j) * n + i];
  };
  float below = at(x, y, -1), here = at(x, y, 0);
  for (int z = 0; z < n; ++z) {
    const float above = at(x, y, z + 1);
    __syncthreads();
    plane[threadIdx.y + 1][threadIdx.x + 1] = here;
    if (threadIdx.x == 0) plane[threadIdx.y + 1][0] = at(x - 1, y, z);
    if (threadIdx.x == 15) plane[threadIdx.y + 1][17] = at(x + 1, y, z);
    if (threadIdx.y == 0) plane[0][threadIdx.x + 1] = at(x, y - 1, z);
    if (threadIdx.y == 15) plane[17][threadIdx.x + 1] = at(x, y + 1, z);
    __syncthreads();
    const int j = threadIdx.y + 1, i = threadIdx.x + 1;
    float sum =
      below + above + plane[j][i - 1] + plane[j][i + 1] + plane[j - 1][i] + plane[j + 1][i];
    out[(z * n + y) * n + x] = fmaf(sum - 6 * here, 0.1f, here);
    below = here, here = above;
  }
}

// Red and black: each half reads what the other one wrote.
__global__ void red_black(float* u, const float* f, int n) {
  for (int sweep = 0; sweep < 6; ++sweep) {
    for (int k = threadIdx.x; k < n * n; k += blockDim.x) {
      const int i = k % n, j = k / n;
      if ((i + j + sweep) % 2 != 0 || i == 0 || j == 0 || i == n - 1 || j == n - 1) continue;
      u[k] = 0.25f * (u[k - 1] + u[k + 1] + u[k - n] + u[k + n] - f[k]);
    }
    __syncthreads();
  }
}

// A matrix of 32 x 32 a warp: a row a lane.
template <class T> __global__ void factorize(const T* in, T* out) { // LU by largest pivots
  const int lane = threadIdx.x;
  T row[32];
  int order = lane;
  for (int j = 0; j < 32; ++j) row[j] = in[blockIdx.x * 1024 + lane * 32 + j];
  for (int k = 0; k < 32; ++k) {
    T best = lane >= k ? (row[k] < 0 ? -row[k] : row[k]) : T(-1);
    int who = lane;
    for (int step = 16; step > 0; step /= 2) {
      const T other = __shfl_xor_sync(~0u, best, step);
      const int its = __shfl_xor_sync(~0u, who, step);
      if (other > best || (other == best && its < who)) best = other, who = its;
    }
    const int from = lane == k ? who : lane == who ? k : lane;
    for (int j = 0; j < 32; ++j) row[j] = __shfl_sync(~0u, row[j], from);
    order = __shfl_sync(~0u, order, from);
    const T pivot = __shfl_sync(~0u, row[k], k);
    if (lane > k) row[k] = row[k] / pivot;
    for (int j = k + 1; j < 32; ++j) {
      const T above = __shfl_sync(~0u, row[j], k);
      if (lane > k) row[j] -= row[k] * above;
    }
  }
  for (int j = 0; j < 32; ++j)
    out[blockIdx.x * 1024 + lane * 32 + j] = row[j] + T(j == 0 ? order : 0);
}
__global__ void cholesky(const float* in, float* out) { // of in * in' + 32
  __shared__ float a[32][33];
  const int i = threadIdx.x, j = threadIdx.y;
  float sum = i == j ? 32.f : 0.f;
  for (int k = 0; k < 32; ++k)
    sum = fmaf(in[blockIdx.x * 1024 + i * 32 + k], in[blockIdx.x * 1024 + j * 32 + k], sum);
  a[i][j] = sum;
  for (int k = 0; k < 32; ++k) {
    __syncthreads();
    if (i == k && j == k) a[k][k] = sqrtf(a[k][k]);
    __syncthreads();
    if (j == k && i > k) a[i][k] /= a[k][k];
    __syncthreads();
    if (j > k && i >= j) a[i][j] = fmaf(-a[i][k], a[j][k], a[i][j]);
  }
  __syncthreads();
  out[blockIdx.x * 1024 + i * 32 + j] = j <= i ? a[i][j] : 0;
}
__global__ void orthogonal(const float* in, float* out) { // Gram and Schmidt, a column a lane
  __shared__ float dots[32];
  const int lane = threadIdx.x;
  float column[16];
  for (int i = 0; i < 16; ++i) column[i] = in[blockIdx.x * 512 + i * 32 + lane];
  for (int k = 0; k < 16; ++k) {
    float length = 0;
    for (int i = 0; i < 16; ++i) length = fmaf(column[i], column[i], length);
    const float scale = 1 / sqrtf(__shfl_sync(~0u, length, k));
    float dot = 0;
    for (int i = 0; i < 16; ++i) dot = fmaf(__shfl_sync(~0u, column[i], k) * scale, column[i], dot);
    dots[lane] = dot;
    for (int i = 0; i < 16; ++i) {
      const float q = __shfl_sync(~0u, column[i], k) * scale;
      if (lane == k) column[i] = q;
      if (lane > k) column[i] = fmaf(-dots[lane], q, column[i]);
    }
  }
  for (int i = 0; i < 16; ++i) out[blockIdx.x * 512 + i * 32 + lane] = column[i];
}

__global__ void bodies(const float4* in, float4* out, int count) {
  __shared__ float4 tile[64];
  const int i = global_index();
  const float4 me = in[i];
  float3 force = {0, 0, 0};
  for (int base = 0; base < count; base += 64) {
    __syncthreads();
    tile[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 64; ++j) {
      const float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      const float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
      const float s = tile[j].w / (square * sqrtf(square));
      force.x = fmaf(dx, s, force.x), force.y = fmaf(dy, s, force.y),
      force.z = fmaf(dz, s, force.z);
    }
  }
  out[i] = make_float4(force.x, force.y, force.z, me.w);
}

__global__ void digest(const u32* in, u32* out) { // SHA-256's rounds of one block a thread
  const u32 primes[] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
                        0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5};
  u32 w[16], s[8];
  for (int i = 0; i < 16; ++i) w[i] = in[global_index() * 16 + i];
  for (int i = 0; i < 8; ++i) s[i] = primes[i] ^ 0x6a09e667;
  const auto turn = [](u32 x, int n) { return __funnelshift_r(x, x, n); };
  for (int r = 0; r < 64; ++r) {
    if (r >= 16) {
      const u32 a = w[(r + 1) % 16], b = w[(r + 14) % 16];
      w[r % 16] += (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + w[(r + 9) % 16] +
                   (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    const u32 e = s[4], a = s[0];
    const u32 one = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                    primes[r % 8] * (2 * r + 1) + w[r % 16];
    const u32 two =
      (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    for (int i = 7; i > 0; --i) s[i] = s[i - 1];
    s[4] += one;
    s[0] = one + two;
  }
  for (int i = 0; i < 8; ++i) out[global_index() * 8 + i] = s[i];
}
__global__ void cipher(const u32* key, u32* out) { // ChaCha20's block of a counter a thread
  u32 x[16], first[16];
  for (int i = 0; i < 16; ++i) first[i] = x[i] = i == 12 ? global_index() : key[i];
  const auto quarter = [&](int a, int b, int c, int d) {
    const auto turn = [](u32 v, int n) { return v << n | v >> (32 - n); };
    x[a] += x[b], x[d] = turn(x[d] ^ x[a], 16), x[c] += x[d], x[b] = turn(x[b] ^ x[c], 12);
    x[a] += x[b], x[d] = turn(x[d] ^ x[a], 8), x[c] += x[d], x[b] = turn(x[b] ^ x[c], 7);
  };
  for (int r = 0; r < 10; ++r) {
    for (int i = 0; i < 4; ++i) quarter(i, 4 + i, 8 + i, 12 + i);
    for (int i = 0; i < 4; ++i) quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
  }
  for (int i = 0; i < 16; ++i) out[global_index() * 16 + i] = x[i] + first[i];
}
__global__ void checksums(const u8* in, u32* out, int length) {
  __shared__ u32 table[256];
  u32 c = threadIdx.x;
  for (int i = 0; i < 8; ++i) c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
  table[threadIdx.x] = c;
  __syncthreads();
  c = ~0u;
  for (int i = 0; i < length; ++i) c = c >> 8 ^ table[(c ^ in[threadIdx.x * length + i]) & 255];
  out[threadIdx.x] = ~c;
}
__global__ void philox(uint4* out) { // ten rounds
  uint4 c = make_uint4(global_index(), 7, 0, 42);
  uint2 k = make_uint2(0xdeadbeef, 0x12345678);
  for (int i = 0; i < 10; ++i) {
    const u32 h0 = __umulhi(0xd2511f53, c.x), l0 = 0xd2511f53 * c.x, h1 = __umulhi(0xcd9e8d57, c.z),
              l1 = 0xcd9e8d57 * c.z;
    c = make_uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
    k.x += 0x9e3779b9, k.y += 0xbb67ae85;
  }
  out[global_index()] = c;
}

template <class T> __global__ void mandelbrot(u16* out, int w) {
  const T cx = T(threadIdx.x) * T(3) / T(w) - T(2), cy = T(blockIdx.x) * T(2) / T(gridDim.x) - T(1);
  T x = 0, y = 0;
  int n = 0;
  for (; n < 200 && x * x + y * y < T(4); ++n) {
    const T next = x * x - y * y + cx;
    y = T(2) * x * y + cy;
    x = next;
  }
  out[blockIdx.x * w + threadIdx.x] = static_cast<u16>(n);
}
__global__ void life(const u64* in, u64* out, int rows) { // 64 cells a word
  const int r = global_index();
  u64 counts[4] = {};
  const auto count = [&](u64 cells) {
    for (u64& bit : counts) {
      const u64 carry = bit & cells;
      bit ^= cells;
      cells = carry;
    }
  };
  for (int d = -1; d <= 1; ++d) {
    const u64 row = in[(r + d + rows) % rows];
    count(row << 1 | row >> 63), count(row >> 1 | row << 63);
    if (d != 0) count(row);
  }
  out[r] = counts[1] & ~counts[2] & ~counts[3] & (counts[0] | in[r]);
}
__global__ void alignment(const u8* a, const u8* b, int* best, int n) { // Smith and Waterman, by
                                                                        // diagonals
  __shared__ int rows[3][129];
  const int t = threadIdx.x;
  int most = 0;
  for (int k = 0; k < 3; ++k) rows[k][t + 1] = 0;
  if (t < 3) rows[t][0] = 0;
  for (int d = 0; d < 128 + n - 1; ++d) {
    __syncthreads();
    int* now = rows[d % 3];
    const int *last = rows[(d + 2) % 3], *older = rows[(d + 1) % 3];
    const int j = d - t;
    if (j >= 0 && j < n) {
      const int same = (a[blockIdx.x * 128 + t] & 3) == (b[blockIdx.x * n + j] & 3) ? 3 : -2;
      const int diagonal = j == 0 ? 0 : older[t];
      now[t + 1] = max(max(0, diagonal + same), max((j == 0 ? 0 : last[t + 1]) - 4, last[t] - 4));
      most = max(most, now[t + 1]);
    }
  }
  most = __reduce_max_sync(~0u, most);
  if (t % 32 == 0) atomicMax(best + blockIdx.x, most);
}
__global__ void shortest_paths(int* d, int n) {
  for (int k = 0; k < n; ++k) {
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
      const int through = d[i / n * n + k] + d[k * n + i % n];
      if (i / n != k && i % n != k && through < d[i]) d[i] = through;
    }
    __syncthreads();
  }
}

__constant__ float kernel_17[17];
template <bool rows> __global__ void filter_17(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float sum = 0;
  for (int i = -8; i <= 8; ++i) {
    const int fx = rows ? min(max(x + i, 0), w - 1) : x, fy = rows ? y : min(max(y + i, 0), h - 1);
    sum = fmaf(kernel_17[i + 8], in[fy * w + fx], sum);
  }
  out[y * w + x] = sum;
}
__global__ void median(const u8* in, u8* out, int w, int h) {
  const int x = threadIdx.x, y = blockIdx.x;
  u8 v[9];
  for (int i = 0; i < 9; ++i)
    v[i] = in[min(max(y + i / 3 - 1, 0), h - 1) * w + min(max(x + i % 3 - 1, 0), w - 1)];
  for (int i = 0; i < 5; ++i) {
    for (int j = i + 1; j < 9; ++j) {
      if (v[j] < v[i]) {
        const u8 a = v[i];
        v[i] = v[j], v[j] = a;
      }
    }
  }
  out[y * w + x] = v[4];
}
__global__ void edges(const uchar4* in, u32* out, int w, int h) { // Sobel's, by bytes of a word
  const int x = min(max(static_cast<int>(threadIdx.x), 1), w - 2),
            y = min(max(static_cast<int>(blockIdx.x), 1), h - 2);
  const auto at = [&](int dx, int dy) {
    return reinterpret_cast<const u32*>(in)[(y + dy) * w + x + dx];
  };
  const u32 across =
    __vadd4(__vabsdiffu4(at(1, 0), at(-1, 0)),
            __vavgu4(__vabsdiffu4(at(1, 1), at(-1, 1)), __vabsdiffu4(at(1, -1), at(-1, -1))));
  const u32 down = __vmaxu4(__vabsdiffu4(at(0, 1), at(0, -1)), __vminu4(at(1, 1), at(-1, -1)));
  out[blockIdx.x * w + threadIdx.x] = __vaddus4(across, down) ^ __dp4a(across, down, 7u);
}
__global__ void nearest_centre(const float4* points, const float4* centres, u8* out, int* counts,
                               int k) {
  __shared__ int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  const float4 p = points[global_index()];
  float best = INFINITY;
  int who = 0;
  for (int i = 0; i < k; ++i) {
    const float4 c = centres[i];
    const float d =
      fmaf(p.x - c.x, p.x - c.x,
           fmaf(p.y - c.y, p.y - c.y, fmaf(p.z - c.z, p.z - c.z, (p.w - c.w) * (p.w - c.w))));
    if (d < best) best = d, who = i;
  }
  out[global_index()] = static_cast<u8>(who);
  atomicAdd(local + who, 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(counts + threadIdx.x, local[threadIdx.x]);
}
__global__ void options(const double* prices, double* out) { // Black and Scholes, with CUDA's
                                                             // functions of doubles
  const double s = fabs(prices[global_index()]) + 0.5, k = 1.25, v = 0.3, r = 0.02, t = 1.5;
  const double d1 = (log(s / k) + (r + v * v / 2) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
  out[global_index()] =
    s * erfc(-d1 * 0.70710678118654752) / 2 - k * exp(-r * t) * erfc(-d2 * 0.70710678118654752) / 2;
}
__global__ void waves(const float* in, float4* out) {
  const float x = in[global_index()] * 40;
  out[global_index()] = make_float4(sinf(x), cosf(x), atan2f(x, 1.5f), log1pf(fabsf(x)));
}

} // namespace science
