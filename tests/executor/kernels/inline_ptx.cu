// SPDX-License-Identifier: Apache-2.0
// PTX that programs write by hand: scopes with labels and registers, vectors, predicates, carries,
// saturation, selections.
#include "torture.h"

using u32 = unsigned;

__global__ void labels_in_scopes(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  u32 result = in[i];
  for (int k = 0; k < 2; ++k) {
    asm volatile("{\n\t.reg .pred done;\n\t.reg .u32 left;\n\t"
                 "and.b32 left, %0, 15;\n\t"
                 "AGAIN:\n\t"
                 "setp.eq.u32 done, left, 0;\n\t"
                 "@done bra LEAVE;\n\t"
                 "add.u32 %0, %0, 3;\n\t"
                 "sub.u32 left, left, 1;\n\t"
                 "bra.uni AGAIN;\n\t"
                 "LEAVE:\n\t}"
                 : "+r"(result));
  }
  out[i] = result;
}

__global__ void selections(const int* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  int* o = out + 4 * i;
  asm(
    "{ .reg .pred p, q, r; setp.lt.s32 p|q, %4, 100; selp.s32 %0, 1, 2, p; selp.s32 %1, 3, 4, q;\n\t"
    "setp.gt.and.s32 r, %4, 50, p; selp.s32 %2, 5, 6, r; slct.s32.s32 %3, 7, 8, %4; }"
    : "=r"(o[0]), "=r"(o[1]), "=r"(o[2]), "=r"(o[3])
    : "r"(in[i]));
}

__global__ void saturation(const int* in, int* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  int* o = out + 4 * i;
  asm("add.sat.s32 %0, %1, 2000000000;" : "=r"(o[0]) : "r"(in[i]));
  asm("sub.sat.s32 %0, %1, 2000000000;" : "=r"(o[1]) : "r"(in[i]));
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(o[2]) : "r"(in[i] >> 20));
  float f = __fmul_rn(static_cast<float>(in[i]), 1e-9F); // ptxas joins no mul.rn with an addition
  asm("add.sat.f32 %0, %0, 0f3E800000;" : "+f"(f));
  o[3] = __float_as_int(f);
}

__global__ void vectors_and_packing(const u32* in, u32* out, int n) {
  const int i = global_index();
  if (i >= n) return;
  u32 a, b;
  unsigned long long wide;
  asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "l"(in + 2 * i));
  asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(b), "r"(a));
  unsigned short low, high;
  asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(a));
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * i),
               "r"(static_cast<u32>(wide)), "r"(static_cast<u32>(wide >> 32)),
               "r"(static_cast<u32>(low)), "r"(static_cast<u32>(high))
               : "memory");
}

__global__ void address_spaces(int* out) {
  __shared__ int value;
  int own = 3;
  int* pointers[3] = {&value, &own, out + 64};
  int found = 0;
  for (int k = 0; k < 3; ++k) {
    int shared, local, global;
    asm volatile(
      "{ .reg .pred p, q, r; isspacep.shared p, %3; isspacep.local q, %3; isspacep.global r, %3;\n\t"
      "selp.s32 %0, 1, 0, p; selp.s32 %1, 2, 0, q; selp.s32 %2, 4, 0, r; }"
      : "=r"(shared), "=r"(local), "=r"(global)
      : "l"(pointers[(threadIdx.x + static_cast<unsigned>(k)) % 3]));
    found = found * 10 + shared + local + global;
  }
  out[threadIdx.x] = found;
}

int main() {
  const int n = 300;
  const auto in = torture::numbers<u32>(2 * n, 1);
  torture::Array<u32> din(in), out(n), four(4 * n);
  std::vector<u32> want(n);
  for (int i = 0; i < n; ++i) {
    want[i] = in[i] + 3 * (in[i] & 15);
    want[i] += 3 * (want[i] & 15);
  }
  labels_in_scopes<<<3, 128>>>(din, out, n);
  torture::expect("labels_in_scopes", out, want);
  want.resize(4 * n);
  for (int i = 0; i < n; ++i) {
    want[4 * i] = in[2 * i + 1];
    want[4 * i + 1] = in[2 * i];
    want[4 * i + 2] = in[2 * i] & 0xffff;
    want[4 * i + 3] = in[2 * i] >> 16;
  }
  vectors_and_packing<<<3, 128>>>(din, four, n);
  torture::expect("vectors_and_packing", four, want);

  auto numbers = torture::numbers<int>(n, 2);
  for (int i = 0; i < n; i += 3) numbers[i] %= 200;
  torture::Array<int> dnumbers(numbers), results(4 * n), spaces(65);
  std::vector<int> want_ints(4 * n);
  for (int i = 0; i < n; ++i) {
    const int x = numbers[i];
    want_ints[4 * i] = x < 100 ? 1 : 2;
    want_ints[4 * i + 1] = x < 100 ? 4 : 3;
    want_ints[4 * i + 2] = x > 50 && x < 100 ? 5 : 6;
    want_ints[4 * i + 3] = x >= 0 ? 7 : 8;
  }
  selections<<<3, 128>>>(dnumbers, results, n);
  torture::expect("selections", results, want_ints);
  for (int i = 0; i < n; ++i) {
    const long long x = numbers[i];
    const auto clamp = [](long long v, long long low, long long high) {
      return v < low ? low : v > high ? high : v;
    };
    want_ints[4 * i] = static_cast<int>(clamp(x + 2000000000, -2147483648ll, 2147483647));
    want_ints[4 * i + 1] = static_cast<int>(clamp(x - 2000000000, -2147483648ll, 2147483647));
    want_ints[4 * i + 2] = static_cast<int>(clamp(numbers[i] >> 20, 0, 255));
    const float f = static_cast<float>(numbers[i]) * 1e-9F + 0.25F;
    const float clamped = f < 0 ? 0 : f > 1 ? 1 : f;
    std::memcpy(&want_ints[4 * i + 3], &clamped, 4);
  }
  saturation<<<3, 128>>>(dnumbers, results, n);
  torture::expect("saturation", results, want_ints);
  want_ints.assign(65, 0);
  const int orders[] = {124, 241, 412};
  for (int t = 0; t < 64; ++t) want_ints[t] = orders[t % 3];
  address_spaces<<<1, 64>>>(spaces);
  torture::expect("address_spaces", spaces, want_ints);
  return torture::finish();
}
