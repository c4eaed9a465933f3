// SPDX-License-Identifier: Apache-2.0
// Branches of all kinds, divergent in every warp: switches, loops with several ends, goto into and
// out of loops, conditions that stop early.
#include "torture.h"

__host__ __device__ int dense_switch_step(int x) {
  switch (x & 15) {
  case 0: return x + 1;
  case 1: return x * 3;
  case 2: return x - 7;
  case 3:
  case 4: return x ^ 21;
  case 5: x += 2; // and on
  case 6: return x * x;
  case 7: return -x;
  case 9: return x / 3;
  case 10: return x % 5;
  case 12: return 77;
  case 13: return x << 2;
  case 15: return ~x;
  default: return 0;
  }
}

__host__ __device__ int sparse_switch_step(int x) {
  switch (x % 1000) {
  case 3: return 1;
  case 77: return 2;
  case 500: return 3;
  case 999: return 4;
  case 10: return 5;
  }
  return x % 2 ? -1 : -2;
}

__host__ __device__ int collatz(unsigned x) {
  int steps = 0;
  while (x != 1 && steps < 500) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    ++steps;
  }
  return steps;
}

__host__ __device__ int nested(int x) {
  int found = 0;
  for (int i = 0; i < 12; ++i) {
    if (i == x % 13) continue;
    for (int k = i; k < 20; ++k) {
      if (i * k > x % 97) break;
      if ((i + k) % 7 == 3) goto next;
      found += i ^ k;
    }
    found *= 2;
    if (found > 5000) return found;
  next:
    ++found;
  }
  return found;
}

// A loop with two entries: what compilers call irreducible.
__host__ __device__ int two_entries(int x) {
  int n = x & 31;
  int sum = 0;
  if (x & 64) goto middle;
top:
  sum += n * 3;
  if (sum > 400) return sum;
middle:
  sum ^= n;
  if (n-- > 0) goto top;
  return sum;
}

__host__ __device__ int lazy_conditions(int x, int* calls) {
  const auto test = [calls](bool value) {
    ++*calls;
    return value;
  };
  int r = 0;
  if (test(x % 2 == 0) && (test(x % 3 == 0) || test(x % 5 == 0))) r = 1;
  if (test(x > 100) || (test(x < 50) && !test(x % 7 == 0))) r += 2;
  return r;
}

__host__ __device__ int do_until(int x) {
  int count = 0;
  do {
    x = (x * 13 + 7) & 255;
    ++count;
  } while (x > 20 && count < 60);
  return count * 1000 + x;
}

template <class F> __global__ void apply(F f, const int* in, int* out, int n) {
  const int i = global_index();
  if (i < n) out[i] = f(in[i]);
}

__global__ void early_return(const int* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  if (in[i] % 5 == 0) return;
  if (in[i] % 5 == 1) {
    out[i] = 1;
    return;
  }
  for (int k = 0;; ++k) {
    if (k * k > in[i]) {
      out[i] = k;
      return;
    }
  }
}

struct DenseSwitch {
  __host__ __device__ int operator()(int x) const {
    return dense_switch_step(dense_switch_step(x) % 4096);
  }
};
struct SparseSwitch {
  __host__ __device__ int operator()(int x) const { return sparse_switch_step(x); }
};
struct Collatz {
  __host__ __device__ int operator()(int x) const {
    return collatz(static_cast<unsigned>(x % 3000 + 1));
  }
};
struct Nested {
  __host__ __device__ int operator()(int x) const { return nested(x); }
};
struct TwoEntries {
  __host__ __device__ int operator()(int x) const { return two_entries(x); }
};
struct Lazy {
  __host__ __device__ int operator()(int x) const {
    int calls = 0;
    const int r = lazy_conditions(x % 150, &calls);
    return r * 100 + calls;
  }
};
struct DoUntil {
  __host__ __device__ int operator()(int x) const { return do_until(x); }
};

template <class F> void run(const char* name, F f) {
  const int n = 500;
  const auto in = torture::numbers_below<int>(n, 1, 4000);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = f(in[i]);
  torture::Array<int> din(in), out(n);
  apply<<<4, 128>>>(f, din.get(), out.get(), n);
  torture::expect(name, out, want);
}

int main() {
  run("dense_switch", DenseSwitch{});
  run("sparse_switch", SparseSwitch{});
  run("collatz", Collatz{});
  run("nested", Nested{});
  run("two_entries", TwoEntries{});
  run("lazy_conditions", Lazy{});
  run("do_until", DoUntil{});
  const int n = 500;
  const auto in = torture::numbers_below<int>(n, 2, 4000);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) {
    if (in[i] % 5 < 2) {
      want[i] = in[i] % 5;
    } else {
      while (want[i] * want[i] <= in[i]) ++want[i];
    }
  }
  torture::Array<int> din(in), out(n);
  early_return<<<4, 128>>>(din, out, n);
  torture::expect("early_return", out, want);
  return torture::finish();
}
