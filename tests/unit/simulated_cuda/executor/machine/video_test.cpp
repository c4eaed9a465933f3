// SPDX-License-Identifier: Apache-2.0
// vadd4 and its like: bytes and halves of words, against what the host computes for each.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <utility>

namespace gmt::executor {
namespace {

using Part = std::function<int(int, int)>;

int average(int a, int b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }

const std::pair<const char*, Part> kOperations[] = {
  {"vadd", [](int a, int b) { return a + b; }},
  {"vsub", [](int a, int b) { return a - b; }},
  {"vavrg", average},
  {"vabsdiff", [](int a, int b) { return std::abs(a - b); }},
  {"vmin", [](int a, int b) { return std::min(a, b); }},
  {"vmax", [](int a, int b) { return std::max(a, b); }}};

class Video : public KernelRunner {
protected:
  // d = op(a, b, c) of 64 random words
  void
  check(const std::string& form,
        const std::function<std::uint32_t(std::uint32_t, std::uint32_t, std::uint32_t)>& want) {
    load(".visible .entry k(.param .u64 p, .param .u64 q) { .reg .b32 %r<8>; .reg .b64 %x<8>;\n"
         "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
         "mad.wide.u32 %x2, %r0, 16, %x0; mad.wide.u32 %x3, %r0, 4, %x1;\n"
         "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%x2];\n" +
         form + " %r5, %r1, %r2, %r3; st.global.u32 [%x3], %r5; ret; }\n");
    std::mt19937 random(11);
    std::vector<std::uint32_t> in(256);
    for (std::uint32_t& word : in) word = static_cast<std::uint32_t>(random());
    in[0] = 0x80ff7f00;
    in[1] = 0x7f80ff80;
    in[5] = in[4] ^ 0xff; // all parts but one are equal
    const std::uint64_t from = put(in), to = put(std::vector<std::uint32_t>(64));
    EXPECT_EQ(run({1}, {64}, {from, to}).end, End::kDone) << form;
    const auto out = get<std::uint32_t>(to, 64);
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], want(in[4 * i], in[4 * i + 1], in[4 * i + 2])) << form << " " << i;
  }
  // The part of a word at a bit, extended.
  static int part(std::uint32_t word, int bits, int at, bool is_signed) {
    const auto v = static_cast<int>(word >> at & ((1u << bits) - 1));
    return is_signed && (v >> (bits - 1)) != 0 ? v - (1 << bits) : v;
  }
};

TEST_F(Video, EachPart) {
  for (const auto& [name, operation] : kOperations) {
    for (const int bits : {8, 16}) {
      for (const bool is_signed : {false, true}) {
        const std::string types = is_signed ? ".s32.s32.s32" : ".u32.u32.u32";
        const auto want = [&, bits = bits, is_signed = is_signed,
                           &f = operation](std::uint32_t a, std::uint32_t b, bool saturates) {
          std::uint32_t result = 0;
          const int least = is_signed ? -(1 << (bits - 1)) : 0;
          const int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
          for (int at = 0; at < 32; at += bits) {
            int v = f(part(a, bits, at, is_signed), part(b, bits, at, is_signed));
            if (saturates) v = std::clamp(v, least, most);
            result |= (static_cast<std::uint32_t>(v) & ((1u << bits) - 1)) << at;
          }
          return result;
        };
        const std::string form = std::string(name) + (bits == 8 ? "4" : "2") + types;
        check(form, [&](auto a, auto b, auto) { return want(a, b, false); });
        check(form + ".sat", [&](auto a, auto b, auto) { return want(a, b, true); });
      }
    }
  }
}

TEST_F(Video, TheSumOfAllParts) {
  check("vabsdiff4.u32.u32.u32.add", [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int at = 0; at < 32; at += 8)
      c += static_cast<std::uint32_t>(std::abs(part(a, 8, at, false) - part(b, 8, at, false)));
    return c;
  });
}

const std::pair<const char*, std::function<bool(int, int)>> kComparisons[] = {
  {".eq", std::equal_to<>()},   {".ne", std::not_equal_to<>()}, {".lt", std::less<>()},
  {".le", std::less_equal<>()}, {".gt", std::greater<>()},      {".ge", std::greater_equal<>()}};

TEST_F(Video, ComparisonOfEachPart) {
  for (const auto& [name, compare] : kComparisons) {
    for (const int bits : {8, 16}) {
      for (const bool is_first_signed : {false, true}) {
        const std::string form = std::string(bits == 8 ? "vset4" : "vset2") +
                                 (is_first_signed ? ".s32" : ".u32") + ".s32" + name;
        const auto is_so = [bits = bits, is_first_signed = is_first_signed,
                            &f = compare](std::uint32_t a, std::uint32_t b, int at) {
          return f(part(a, bits, at, is_first_signed), part(b, bits, at, true)) ? 1u : 0u;
        };
        check(form, [&](auto a, auto b, auto) {
          std::uint32_t result = 0;
          for (int at = 0; at < 32; at += bits) result |= is_so(a, b, at) << at;
          return result;
        });
        check(form + ".add", [&](auto a, auto b, auto c) {
          for (int at = 0; at < 32; at += bits) c += is_so(a, b, at);
          return c;
        });
      }
    }
  }
}

// Of whole words: a GPU gives other results than PTX's words say.
TEST_F(Video, WhatAGpuComputesOtherwiseSkipsTheLaunchByName) {
  const std::pair<const char*, const char*> forms[] = {
    {"vadd.s32.u32.u32.sat", "%r1, %r1, %r1"},
    {"vmin.u32.u32.u32.max", "%r1, %r1, %r1, %r1"},
    {"vmad.u32.u32.u32.shr7", "%r1, %r1, %r1, %r1"},
    {"vset.s32.s32.lt", "%r1.h1, %r1, %r1, %r1"}};
  for (const auto& [form, operands] : forms) {
    load(std::string(".visible .entry k() { .reg .b32 %r<2>; mov.u32 %r1, %tid.x; ") + form + " " +
         operands + "; ret; }\n");
    const Outcome outcome = run({1}, {32}, {});
    EXPECT_EQ(outcome.end, End::kSkipped) << form;
    EXPECT_EQ(outcome.reason, std::string(form) + " is not executed");
  }
}

} // namespace
} // namespace gmt::executor
