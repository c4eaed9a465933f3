// SPDX-License-Identifier: Apache-2.0
// Attention whose scores stay in registers, forward and backward, with mma.sync. Powers of 2 are
// those of exact_exp2, so that results are the same to the last bit. It is one file because forward
// and backward have the same tiles and masks.
#pragma once

#include "products.h"

namespace attention {

using products::commit;
using products::copy16;
using products::HalfF32;
using products::load_four;
using products::wait;

enum : unsigned {
  kCausal = 1,
  kWindow = 2,
  kBias = 4,
  kPaged = 8,
  kVaried = 16,
  kSplit = 32,
  kCapped = 64
};

struct Shape {
  int queries, keys, heads_a_group;
  float scale; // with log2(e)
};

__device__ inline u32 two_halves(float x, float y) {
  const __half2 both = __floats2half2_rn(x, y);
  return *reinterpret_cast<const u32*>(&both);
}
// 16 or more rows of D halves into rows of D + 8.
template <int D, int rows> __device__ void fetch(__half* to, const __half* from) {
  for (int i = threadIdx.x; i < rows * D / 8; i += blockDim.x)
    copy16(to + i / (D / 8) * (D + 8) + i % (D / 8) * 8, from + i * 8);
}
template <int D> __device__ void a_rows(u32* f, const __half* tile, int row, int column) {
  const int lane = threadIdx.x % 32;
  load_four<false>(f, tile + (row + lane % 16) * (D + 8) + column + lane / 16 * 8);
}
// B of 16 columns: its columns are rows of the tile, or its rows are.
template <int D> __device__ void b_columns(u32* f, const __half* tile, int row, int column) {
  const int lane = threadIdx.x % 32;
  load_four<false>(f,
                   tile + (row + lane % 8 + lane / 16 * 8) * (D + 8) + column + lane / 8 % 2 * 8);
}
template <int D> __device__ void b_rows(u32* f, const __half* tile, int row, int column) {
  const int lane = threadIdx.x % 32;
  load_four<true>(f, tile + (row + lane % 16) * (D + 8) + column + lane / 16 * 8);
}

// Four warps of 16 queries; keys and values come in twos of tiles of 32.
template <int D, unsigned how>
__global__ void forward(const __half* q, const __half* k, const __half* v, float* out, float2* sums,
                        Shape s, const int* table) {
  extern __shared__ __half tiles[];
  constexpr int kTile = 32 * (D + 8);
  __half *tq = tiles, *tk = tiles + 64 * (D + 8), *tv = tk + 2 * kTile;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.y,
            row0 = blockIdx.x * 64;
  const int group = head / s.heads_a_group;
  int begin = 0, end = how & kVaried ? table[head] : s.keys;
  if (how & kCausal) end = min(end, row0 + 64 + s.keys - s.queries);
  if (how & kWindow) begin = max(0, row0 + s.keys - s.queries - 40) / 32 * 32;
  if (how & kSplit) {
    const int part = s.keys / gridDim.z;
    begin = blockIdx.z * part, end = begin + part;
  }
  const auto bring = [&](int at, int slot) {
    if (at < end) {
      const int from = how & kPaged ? table[at / 32] * 32 : at;
      fetch<D, 32>(tk + slot * kTile, k + (group * s.keys + from) * D);
      fetch<D, 32>(tv + slot * kTile, v + (group * s.keys + from) * D);
    }
    commit();
  };
  fetch<D, 64>(tq, q + (head * s.queries + row0) * D);
  bring(begin, 0);
  float most[2] = {-1e30f, -1e30f}, sum[2] = {}, acc[D / 8][4] = {};
  u32 fq[D / 16][4];
  for (int at = begin; at < end; at += 32) {
    const int slot = (at - begin) / 32 % 2;
    bring(at + 32, slot ^ 1);
    wait<1>();
    __syncthreads();
    if (at == begin) {
      for (int i = 0; i < D / 16; ++i) a_rows<D>(fq[i], tq, warp * 16, i * 16);
    }
    float x[4][4] = {};
    for (int i = 0; i < D / 16; ++i) {
      for (int j = 0; j < 2; ++j) {
        u32 fk[4];
        b_columns<D>(fk, tk + slot * kTile, j * 16, i * 16);
        HalfF32::add(x[2 * j], fq[i], fk[0], fk[1]);
        HalfF32::add(x[2 * j + 1], fq[i], fk[2], fk[3]);
      }
    }
    const auto is_seen = [&](int r, int j, int e) {
      const int key = at + j * 8 + lane % 4 * 2 + e,
                row = row0 + warp * 16 + lane / 4 + r * 8 + s.keys - s.queries;
      if (key >= end || (how & kCausal && key > row)) return false;
      return !(how & kWindow) || key >= row - 40;
    };
    for (int r = 0; r < 2; ++r) {
      float m = most[r];
      for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < 2; ++e) {
          float& each = x[j][2 * r + e];
          each *= s.scale;
          if (how & kCapped) each = 8 * each / (8 + fabsf(each));
          if (how & kBias)
            each = fmaf(static_cast<float>(at + j * 8 + lane % 4 * 2 + e - row0 - warp * 16 -
                                           lane / 4 - r * 8),
                        1.f / static_cast<float>(16 << head), each);
          if (is_seen(r, j, e)) m = fmaxf(m, each);
        }
      }
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 1));
      m = fmaxf(m, __shfl_xor_sync(~0u, m, 2));
      const float scale = exact_exp2(most[r] - m);
      most[r] = m;
      float part = 0;
      for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < 2; ++e) {
          x[j][2 * r + e] = is_seen(r, j, e) ? exact_exp2(x[j][2 * r + e] - m) : 0.f;
          part += x[j][2 * r + e];
        }
      }
      sum[r] = fmaf(sum[r], scale, part);
      for (int j = 0; j < D / 8; ++j) acc[j][2 * r] *= scale, acc[j][2 * r + 1] *= scale;
    }
    for (int j = 0; j < 2; ++j) {
      const u32 p[4] = {two_halves(x[2 * j][0], x[2 * j][1]), two_halves(x[2 * j][2], x[2 * j][3]),
                        two_halves(x[2 * j + 1][0], x[2 * j + 1][1]),
                        two_halves(x[2 * j + 1][2], x[2 * j + 1][3])};
      for (int i = 0; i < D / 16; ++i) {
        u32 fv[4];
        b_rows<D>(fv, tv + slot * kTile, j * 16, i * 16);
        HalfF32::add(acc[2 * i], p, fv[0], fv[1]);
        HalfF32::add(acc[2 * i + 1], p, fv[2], fv[3]);
      }
    }
    __syncthreads();
  }
  wait<0>();
  const int first = (blockIdx.z * gridDim.y + head) * s.queries + row0 + warp * 16 + lane / 4;
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    if (lane % 4 == 0) sums[first + r * 8] = make_float2(most[r], sum[r]);
    for (int j = 0; j < D / 8; ++j) {
      for (int e = 0; e < 2; ++e)
        out[(first + r * 8) * D + j * 8 + lane % 4 * 2 + e] =
          how & kSplit ? acc[j][2 * r + e] : acc[j][2 * r + e] / sum[r];
    }
  }
}

// Parts of the keys are put together.
template <int D> __global__ void combine(const float* parts, const float2* sums, float* out,
                                         int rows, int count) {
  const int row = blockIdx.x;
  float most = -1e30f, sum = 0, value = 0;
  for (int p = 0; p < count; ++p) most = fmaxf(most, sums[p * rows + row].x);
  for (int p = 0; p < count; ++p) {
    const float2 its = sums[p * rows + row];
    const float scale = exact_exp2(its.x - most);
    sum = fmaf(its.y, scale, sum);
    value = fmaf(parts[(p * rows + row) * D + threadIdx.x], scale, value);
  }
  out[row * D + threadIdx.x] = value / sum;
}

// One query a head: a warp takes keys in turn, and the warps meet at the end.
template <int D> __global__ void decode(const __half* q, const __half* k, const __half* v,
                                        float* out, Shape s) {
  __shared__ float most[4], sum[4], values[4][D];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.x,
            group = head / s.heads_a_group;
  float m = -1e30f, total = 0, acc[D / 32] = {};
  for (int key = warp; key < s.keys; key += 4) {
    float score = 0;
    for (int i = 0; i < D / 32; ++i)
      score = fmaf(__half2float(q[head * D + i * 32 + lane]),
                   __half2float(k[(group * s.keys + key) * D + i * 32 + lane]), score);
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);
    score *= s.scale;
    const float next = fmaxf(m, score), scale = exact_exp2(m - next), p = exact_exp2(score - next);
    m = next;
    total = fmaf(total, scale, p);
    for (int i = 0; i < D / 32; ++i)
      acc[i] = fmaf(p, __half2float(v[(group * s.keys + key) * D + i * 32 + lane]), acc[i] * scale);
  }
  if (lane == 0) most[warp] = m, sum[warp] = total;
  for (int i = 0; i < D / 32; ++i) values[warp][i * 32 + lane] = acc[i];
  __syncthreads();
  if (threadIdx.x >= D) return;
  m = fmaxf(fmaxf(most[0], most[1]), fmaxf(most[2], most[3]));
  float value = 0;
  total = 0;
  for (int w = 0; w < 4; ++w) {
    const float scale = exact_exp2(most[w] - m);
    total = fmaf(sum[w], scale, total);
    value = fmaf(values[w][threadIdx.x], scale, value);
  }
  out[head * D + threadIdx.x] = value / total;
}

// Backward. What each query's output has in common with its gradient:
template <int D> __global__ void common_part(const float* out, const __half* gradient,
                                             float* delta) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int i = lane; i < D; i += 32)
    sum = fmaf(out[row * D + i], __half2float(gradient[row * D + i]), sum);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) delta[row] = sum;
}

// A warp has 16 rows of one side, and goes over the other side. Of keys it makes two gradients.
template <int D, bool of_keys, bool causal>
__global__ void backward(const __half* q, const __half* k, const __half* v, const __half* gradient,
                         const float2* sums, const float* delta, float* first, float* second,
                         Shape s) {
  __shared__ alignas(128) __half mine[2][16 * (D + 8)], theirs[2][16 * (D + 8)];
  const int lane = threadIdx.x, head = blockIdx.y, row0 = blockIdx.x * 16;
  q += head * s.queries * D, gradient += head * s.queries * D, k += head * s.keys * D,
    v += head * s.keys * D;
  sums += head * s.queries, delta += head * s.queries;
  const __half* const sides[2][2] = {{q, gradient}, {k, v}};
  for (int i = 0; i < 2; ++i) fetch<D, 16>(mine[i], sides[of_keys][i] + row0 * D);
  float one[D / 8][4] = {}, two[D / 8][4] = {};
  for (int at = 0; at < (of_keys ? s.queries : s.keys); at += 16) {
    if (causal && (of_keys ? at + 15 < row0 : at > row0 + 15)) continue;
    __syncwarp();
    for (int i = 0; i < 2; ++i) fetch<D, 16>(theirs[i], sides[!of_keys][i] + at * D);
    commit();
    wait<0>();
    __syncwarp();
    float x[2][4] = {}, dp[2][4] = {};
    for (int i = 0; i < D / 16; ++i) {
      u32 a[4], b[4];
      a_rows<D>(a, mine[0], 0, i * 16);
      b_columns<D>(b, theirs[0], 0, i * 16);
      for (int j = 0; j < 2; ++j) HalfF32::add(x[j], a, b[2 * j], b[2 * j + 1]);
      a_rows<D>(a, mine[1], 0, i * 16);
      b_columns<D>(b, theirs[1], 0, i * 16);
      for (int j = 0; j < 2; ++j) HalfF32::add(dp[j], a, b[2 * j], b[2 * j + 1]);
    }
    float p[2][4], ds[2][4];
    for (int j = 0; j < 2; ++j) {
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + lane / 4 + e / 2 * 8, column = at + j * 8 + lane % 4 * 2 + e % 2;
        const int query = of_keys ? column : row, key = of_keys ? row : column;
        const float2 its = sums[query];
        p[j][e] = causal && key > query ? 0.f : exact_exp2(fmaf(x[j][e], s.scale, -its.x)) / its.y;
        ds[j][e] = p[j][e] * (dp[j][e] - delta[query]);
      }
    }
    const auto fragment = [](const float(&from)[2][4], u32* a) {
      for (int i = 0; i < 4; ++i)
        a[i] = two_halves(from[i / 2][i % 2 * 2], from[i / 2][i % 2 * 2 + 1]);
    };
    u32 fp[4], fs[4];
    fragment(p, fp);
    fragment(ds, fs);
    for (int i = 0; i < D / 16; ++i) {
      u32 b[4];
      b_rows<D>(b, theirs[0], 0, i * 16);
      for (int j = 0; j < 2; ++j) HalfF32::add(one[2 * i + j], fs, b[2 * j], b[2 * j + 1]);
      if (!of_keys) continue;
      b_rows<D>(b, theirs[1], 0, i * 16);
      for (int j = 0; j < 2; ++j) HalfF32::add(two[2 * i + j], fp, b[2 * j], b[2 * j + 1]);
    }
  }
  for (int j = 0; j < D / 8; ++j) {
    for (int e = 0; e < 4; ++e) {
      const int to = (head * (of_keys ? s.keys : s.queries) + row0 + lane / 4 + e / 2 * 8) * D +
                     j * 8 + lane % 4 * 2 + e % 2;
      first[to] = one[j][e] * 0.125f;
      if (of_keys) second[to] = two[j][e];
    }
  }
}

struct Given {
  torture::Array<__half> q, k, v;
  Given(std::size_t queries, std::size_t keys)
      : q(torture::operands<__half>(queries, 81)), k(torture::operands<__half>(keys, 82)),
        v(torture::operands<__half>(keys, 83)) {}
};

template <int D, unsigned how> void test_forward(const char* name, int heads, int group,
                                                 int queries, int keys) {
  if (!torture::is_wanted(name)) return;
  const Given given(heads * queries * D, heads / group * keys * D);
  const int splits = how & kSplit ? 3 : 1;
  torture::Array<float> out(splits * heads * queries * D);
  torture::Array<float2> sums(splits * heads * queries);
  std::vector<int> numbers(16);
  for (int i = 0; i < 16; ++i)
    numbers[i] = how & kPaged ? (i * 5 + 2) % (keys / 32) : 1 + i * 23 % keys;
  const torture::Array<int> table(numbers);
  const Shape shape{queries, keys, group, 0.0625f};
  const int shared = (64 + 4 * 32) * (D + 8) * 2;
  OK(cudaFuncSetAttribute(forward<D, how>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  forward<D, how><<<dim3(queries / 64, heads, splits), 128, shared>>>(given.q, given.k, given.v,
                                                                      out, sums, shape, table);
  torture::compare(name, out);
  torture::compare(std::string(name) + ", sums", sums);
  if (!(how & kSplit)) return;
  torture::Array<float> whole(heads * queries * D);
  combine<D><<<heads * queries, D>>>(out, sums, whole, heads * queries, splits);
  torture::compare(std::string(name) + ", together", whole);
}

template <int D> void test_decode(const char* name) {
  if (!torture::is_wanted(name)) return;
  const Given given(8 * D, 2 * 200 * D);
  torture::Array<float> out(8 * D);
  decode<D><<<8, 128>>>(given.q, given.k, given.v, out, {1, 200, 4, 0.0625f});
  torture::compare(name, out);
}

template <int D, bool causal> void test_backward(const char* name) {
  if (!torture::is_wanted(name)) return;
  constexpr int kHeads = 2, kRows = 128;
  const Given given(kHeads * kRows * D, kHeads * kRows * D);
  const torture::Array<__half> gradient(torture::operands<__half>(kHeads * kRows * D, 84));
  torture::Array<float> out(kHeads * kRows * D), delta(kHeads * kRows), dq(out.size()),
    dk(out.size()), dv(out.size());
  torture::Array<float2> sums(kHeads * kRows);
  const Shape s{kRows, kRows, 1, 0.0625f};
  const int shared = (64 + 4 * 32) * (D + 8) * 2;
  forward<D, causal ? kCausal : 0>
    <<<dim3(kRows / 64, kHeads), 128, shared>>>(given.q, given.k, given.v, out, sums, s, nullptr);
  common_part<D><<<kHeads * kRows / 4, 128>>>(out, gradient, delta);
  const dim3 grid(kRows / 16, kHeads);
  backward<D, false, causal>
    <<<grid, 32>>>(given.q, given.k, given.v, gradient, sums, delta, dq, nullptr, s);
  backward<D, true, causal>
    <<<grid, 32>>>(given.q, given.k, given.v, gradient, sums, delta, dk, dv, s);
  torture::compare(std::string(name) + ", common part", delta);
  torture::compare(std::string(name) + ", queries", dq);
  torture::compare(std::string(name) + ", keys", dk);
  torture::compare(std::string(name) + ", values", dv);
}

inline void test() {
  test_forward<32, 0>("attention.32", 2, 1, 64, 96);
  test_forward<64, 0>("attention.64", 2, 1, 128, 128);
  test_forward<128, 0>("attention.128", 1, 1, 64, 128);
  test_forward<64, kCausal>("attention.causal", 2, 1, 128, 192);
  test_forward<64, kWindow | kCausal>("attention.window", 2, 1, 128, 128);
  test_forward<32, kBias>("attention.bias", 3, 1, 64, 64);
  test_forward<32, kPaged>("attention.pages", 4, 4, 64, 160);
  test_forward<32, kVaried>("attention.lengths", 6, 2, 64, 96);
  test_forward<64, kSplit>("attention.split", 2, 1, 64, 192);
  test_forward<32, kCapped>("attention.capped", 2, 2, 64, 64);
  test_decode<64>("attention.decode 64");
  test_decode<128>("attention.decode 128");
  test_backward<32, false>("attention.backward 32");
  test_backward<64, false>("attention.backward 64");
  test_backward<64, true>("attention.backward, causal");
}

} // namespace attention
