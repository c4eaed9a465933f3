// SPDX-License-Identifier: Apache-2.0
// Warps that work together: sorting networks, butterflies, segments, ballots instead of sorting.
#include <algorithm>

#include "torture.h"

constexpr unsigned kAll = 0xffffffff;

__global__ void warp_bitonic_sort(int* data) {
  const unsigned lane = threadIdx.x % 32;
  int value = data[threadIdx.x];
  for (unsigned size = 2; size <= 32; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const int other = __shfl_xor_sync(kAll, value, static_cast<int>(step));
      const bool ascending = (lane & size) == 0;
      const bool lower = (lane & step) == 0;
      value = lower == ascending ? min(value, other) : max(value, other);
    }
  }
  data[threadIdx.x] = value;
}

__global__ void block_bitonic_sort(unsigned short* data) {
  __shared__ unsigned short values[256];
  const unsigned t = threadIdx.x;
  values[t] = data[t];
  __syncthreads();
  for (unsigned size = 2; size <= 256; size *= 2) {
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const unsigned other = t ^ step;
      if (other > t) {
        const bool ascending = (t & size) == 0;
        const unsigned short a = values[t], b = values[other];
        if ((a > b) == ascending) {
          values[t] = b;
          values[other] = a;
        }
      }
      __syncthreads();
    }
  }
  data[t] = values[t];
}

// Sums of runs of equal keys.
__global__ void segmented_sum(const int* keys, const int* values, int* out) {
  const unsigned lane = threadIdx.x;
  const int key = keys[lane];
  int sum = values[lane];
  for (unsigned step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAll, sum, step);
    const int other_key = __shfl_up_sync(kAll, key, step);
    if (lane >= step && other_key == key) sum += other;
  }
  out[lane] = sum;
}

__global__ void radix_rank_by_ballot(const unsigned* in, unsigned* out) {
  unsigned value = in[threadIdx.x];
  const unsigned lane = threadIdx.x;
  for (int bit = 0; bit < 10; ++bit) {
    const unsigned ones = __ballot_sync(kAll, value >> bit & 1);
    const unsigned below = (1u << lane) - 1;
    const unsigned zeros = 32 - static_cast<unsigned>(__popc(ones));
    const unsigned to = (value >> bit & 1) ? zeros + static_cast<unsigned>(__popc(ones & below))
                                           : static_cast<unsigned>(__popc(~ones & below));
    // Which lane takes my position?
    unsigned from = 0;
    for (unsigned k = 0; k < 32; ++k) {
      if (__shfl_sync(kAll, to, static_cast<int>(k)) == lane) from = k;
    }
    value = __shfl_sync(kAll, value, static_cast<int>(from));
  }
  out[lane] = value;
}

__global__ void walsh_hadamard(const int* in, int* out) {
  const unsigned lane = threadIdx.x % 32;
  int value = in[threadIdx.x];
  for (unsigned step = 1; step < 32; step *= 2) {
    const int other = __shfl_xor_sync(kAll, value, static_cast<int>(step));
    value = (lane & step) ? other - value : value + other;
  }
  out[threadIdx.x] = value;
}

// Lanes leave the loop one after the other; who is left works on.
__global__ void shrinking_warp(const int* in, int* out) {
  int left = in[threadIdx.x] % 20;
  int together = 0;
  while (left > 0) {
    const unsigned active = __activemask();
    together += __popc(active) > 0;
    --left;
  }
  __syncwarp();
  out[threadIdx.x] = together;
}

int main() {
  auto in = torture::numbers<int>(128, 1);
  torture::Array<int> data(in);
  auto want = in;
  for (int w = 0; w < 4; ++w) std::sort(want.begin() + 32 * w, want.begin() + 32 * w + 32);
  warp_bitonic_sort<<<1, 128>>>(data);
  torture::expect("warp_bitonic_sort", data, want);

  auto shorts = torture::numbers<unsigned short>(256, 2);
  torture::Array<unsigned short> dshorts(shorts);
  std::sort(shorts.begin(), shorts.end());
  block_bitonic_sort<<<1, 256>>>(dshorts);
  torture::expect("block_bitonic_sort", dshorts, shorts);

  auto keys = torture::numbers_below<int>(32, 3, 5);
  std::sort(keys.begin(), keys.end());
  const auto values = torture::numbers_below<int>(32, 4, 100);
  want.assign(32, 0);
  for (int i = 0; i < 32; ++i)
    want[i] = values[i] + (i > 0 && keys[i - 1] == keys[i] ? want[i - 1] : 0);
  torture::Array<int> dkeys(keys), dvalues(values), sums(32);
  segmented_sum<<<1, 32>>>(dkeys, dvalues, sums);
  torture::expect("segmented_sum", sums, want);

  auto words = torture::numbers_below<unsigned>(32, 5, 1024);
  torture::Array<unsigned> dwords(words), sorted(32);
  std::sort(words.begin(), words.end());
  radix_rank_by_ballot<<<1, 32>>>(dwords, sorted);
  torture::expect("radix_rank_by_ballot", sorted, words);

  const auto signal = torture::numbers_below<int>(64, 6, 1000);
  want.assign(64, 0);
  for (int t = 0; t < 64; ++t) {
    for (int k = 0; k < 32; ++k) {
      const int sign = __builtin_popcount(static_cast<unsigned>(t % 32 & k)) % 2 ? -1 : 1;
      want[t] += sign * signal[t / 32 * 32 + k];
    }
  }
  torture::Array<int> dsignal(signal), transformed(64);
  walsh_hadamard<<<1, 64>>>(dsignal, transformed);
  torture::expect("walsh_hadamard", transformed, want);

  want.resize(64);
  for (int t = 0; t < 64; ++t) want[t] = signal[t] % 20;
  shrinking_warp<<<1, 64>>>(dsignal, transformed);
  torture::expect("shrinking_warp", transformed, want);
  return torture::finish();
}
