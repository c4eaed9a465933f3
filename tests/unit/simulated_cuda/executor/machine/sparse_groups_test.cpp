// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async.sp: of each four elements along k, A has the two that the metadata name.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <sstream>

namespace gmt::executor {
namespace {

constexpr std::uint32_t kGroup = 128, kColumns = 8, kDepth = 32;

class SparseGroups : public KernelRunner {
protected:
  // A and D in registers, 4 words of each thread; B in shared memory: 16 bytes of a column, then
  // those of the next one, and 128 bytes on the next 16. The fence lets them
  // come together that have stored B. Behind the wait each thread overwrites a
  // word of B that all four warps have read: no warp is behind the others.
  static std::string kernel(const std::string& types, std::uint32_t depth, std::uint32_t selector) {
    std::ostringstream text;
    text << ".shared .align 128 .b8 s[512];\n"
            ".visible .entry k(.param .u64 p, .param .u64 b, .param .u64 e, .param .u64 c,\n"
            ".param .u64 q) { .reg .pred %p;\n"
            ".reg .b32 %r<8>, %a<4>, %e, %d<4>; .reg .b64 %x<8>; ld.param.u64 %x0, [p];\n"
            "ld.param.u64 %x1, [b]; ld.param.u64 %x2, [q]; mov.u32 %r0, %tid.x;\n"
            "ld.param.u64 %x5, [e]; ld.param.u64 %x6, [c];\n"
            "mul.wide.u32 %x3, %r0, 4; add.u64 %x1, %x1, %x3; add.u64 %x5, %x5, %x3;\n"
            "mul.wide.u32 %x3, %r0, 16; add.u64 %x0, %x0, %x3; add.u64 %x2, %x2, %x3;\n"
            "add.u64 %x6, %x6, %x3; mov.u32 %r1, s; ld.global.b32 %e, [%x5];\n"
            "ld.global.v4.b32 {%d0, %d1, %d2, %d3}, [%x6];\n"
            "mad.lo.u32 %r2, %r0, 4, %r1; ld.global.b32 %r3, [%x1]; st.shared.b32 [%r2], %r3;\n"
            "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x0]; shr.u32 %r2, %r1, 4;\n"
            "cvt.u64.u32 %x4, %r2; or.b64 %x4, %x4, "
         << (std::uint64_t{128} >> 4 << 16 | std::uint64_t{512} >> 4 << 32)
         << ";\nfence.proxy.async;\n"
            "wgmma.fence.sync.aligned; setp.eq.u32 %p, %r0, %r0;\n"
            "wgmma.mma_async.sp.sync.aligned.m64n8k"
         << depth << ".f32." << types << " {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %x4, %e, "
         << selector << ", %p, 1, 1" << (depth == kDepth ? ", 0" : "")
         << ";\n"
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
            "mad.lo.u32 %r4, %r0, 4, %r1; st.shared.b32 [%r4], %r0;\n"
            "st.global.v4.b32 [%x2], {%d0, %d1, %d2, %d3}; ret; }\n";
    return text.str();
  }
};

// Operands as the program had them that recorded: of small exponents, so that what is cut off
// shows.
class Operands {
public:
  std::uint32_t value(const std::string& type) {
    if (type == "tf32") {
      const float f = static_cast<float>(static_cast<int>(next() % 4096) - 2048);
      return bits_of(f * static_cast<float>(1 << next() % 8) / 64);
    }
    const bool is_byte = type.starts_with("e");
    std::uint32_t v = 0;
    for (std::uint32_t i = 0; i < (is_byte ? 4 : 2); ++i)
      v |= is_byte ? byte(type == "e5m2") << 8 * i : half(type == "f16") << 16 * i;
    return v;
  }
  std::uint32_t accumulator() {
    return bits_of(static_cast<float>(static_cast<int>(next() % 2000) - 1000) / 32);
  }
  std::uint32_t metadata(const std::string& type) {
    constexpr std::uint32_t kPairs[] = {4, 8, 12, 9, 13, 14}, kWide[] = {4, 14};
    std::uint32_t v = 0;
    for (std::uint32_t i = 0; i < 8; ++i)
      v |= (type == "tf32" ? kWide[next() % 2] : kPairs[next() % 6]) << 4 * i;
    return v;
  }

private:
  std::uint32_t byte(bool is_e5m2) {
    const std::uint32_t sign = next() % 2 << 7;
    const std::uint32_t exponent = is_e5m2 ? 9 + next() % 12 : 3 + next() % 10;
    return sign | exponent << (is_e5m2 ? 2 : 3) | next() % (is_e5m2 ? 4 : 8);
  }
  std::uint32_t half(bool is_f16) {
    const std::uint32_t sign = next() % 2 << 15;
    const std::uint32_t exponent = is_f16 ? 9 + next() % 12 : 120 + next() % 14;
    return sign | exponent << (is_f16 ? 10 : 7) | next() % (is_f16 ? 1024 : 128);
  }
  static std::uint32_t bits_of(float f) {
    std::uint32_t bits;
    std::memcpy(&bits, &f, sizeof bits);
    return bits;
  }
  std::uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  std::uint32_t state_ = 12345;
};

struct RecordedProduct {
  const char *a, *b;
  std::uint32_t depth, selector;
  std::uint64_t hashes[3];
};
constexpr RecordedProduct kProducts[] = {
  {"f16", "f16", 32, 0, {0x943a3e0976d6a24a, 0xec8bac6bb59838a6, 0xbfe75fa56d44b7ef}},
  {"f16", "f16", 32, 1, {0xa8ffe39be76f6a89, 0x67fb42d6cdea98e8, 0xc829c06a58bea450}},
  {"bf16", "bf16", 32, 0, {0xbc116932c19db58c, 0x2fd79b2737727fd3, 0x6e1666ccad7fce91}},
  {"bf16", "bf16", 32, 1, {0xbb66d57a266fb93f, 0x3eb8329334c03b76, 0x9f92caaee6b2c32f}},
  {"tf32", "tf32", 16, 0, {0x6a3208aa33ff6ef6, 0x68daa0cf7bf3e66d, 0xafdad14a84f370d7}},
  {"tf32", "tf32", 16, 1, {0x3572eab517047765, 0xd35d5e820c3c2f35, 0x35f6e890113342e8}},
  {"e4m3", "e4m3", 64, 0, {0xc4c480d964ad2325, 0x9674c417706f0f25, 0xb836ec0d9a388725}},
  {"e5m2", "e4m3", 64, 0, {0x699121dde73a3b25, 0x67fadb8c914d0725, 0x66bc3c173007cb25}},
};

TEST_F(SparseGroups, ResultsAreThoseOfAnH100) {
  Operands operands;
  for (const RecordedProduct& product : kProducts) {
    load(kernel(std::string(product.a) + "." + product.b, product.depth, product.selector));
    for (const std::uint64_t recorded : product.hashes) {
      std::vector<std::uint32_t> a(kGroup * 4), b(kGroup), e(kGroup), c(kGroup * 4);
      for (auto& word : a) word = operands.value(product.a);
      for (auto& word : b) word = operands.value(product.b);
      for (auto& word : c) word = operands.accumulator();
      for (auto& word : e) word = operands.metadata(product.a);
      const std::uint64_t q = allocate(kGroup * 16);
      ASSERT_EQ(run({1}, {kGroup}, {put(a), put(b), put(e), put(c), q}).end, End::kDone);
      std::uint64_t hash = 14695981039346656037ull;
      for (const std::uint32_t word : get<std::uint32_t>(q, kGroup * 4))
        hash = (hash ^ word) * 1099511628211ull;
      EXPECT_EQ(hash, recorded) << product.a << " " << product.b << " " << product.selector;
    }
  }
  EXPECT_TRUE(recorder_.reports.empty());
}

// Elements are small integers, so that each sum is exact.
TEST_F(SparseGroups, AHasTheElementsThatTheMetadataName) {
  const auto a_of = [](std::uint32_t row, std::uint32_t kept) {
    return static_cast<float>((row * 5 + kept * 3) % 7) - 3.0f;
  };
  const auto b_of = [](std::uint32_t k, std::uint32_t column) {
    return static_cast<float>((k * 11 + column * 2) % 9) - 4.0f;
  };
  const auto bf16 = [](float v) {
    std::uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    return bits >> 16;
  };
  std::vector<std::uint32_t> a(kGroup * 4), b(kColumns * kDepth / 2);
  for (std::uint32_t t = 0; t < kGroup; ++t) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + i % 2 * 8, kept = t % 4 * 2 + i / 2 * 8;
      a[t * 4 + i] = bf16(a_of(row, kept)) | bf16(a_of(row, kept + 1)) << 16;
    }
  }
  for (std::uint32_t n = 0; n < kColumns; ++n) {
    for (std::uint32_t k = 0; k < kDepth; k += 2)
      b[k / 8 * 32 + n * 4 + k % 8 / 2] = bf16(b_of(k, n)) | bf16(b_of(k + 1, n)) << 16;
  }
  struct Case {
    std::uint32_t metadata, first, second;
  };
  for (const Case& each :
       {Case{0x44444444, 0, 1}, Case{0xeeeeeeee, 2, 3}, Case{0x99999999, 1, 2}}) {
    load(kernel("bf16.bf16", kDepth, 0));
    const std::vector<std::uint32_t> metadata(kGroup, each.metadata), zeros(kGroup * 4);
    const std::uint64_t q = allocate(kGroup * 16);
    ASSERT_EQ(run({1}, {kGroup}, {put(a), put(b), put(metadata), put(zeros), q}).end, End::kDone);
    const auto d = get<float>(q, kGroup * 4);
    for (std::uint32_t t = 0; t < kGroup; ++t) {
      for (std::uint32_t i = 0; i < 4; ++i) {
        const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + i / 2 * 8, column = t % 4 * 2 + i % 2;
        float sum = 0;
        for (std::uint32_t kept = 0; kept < kDepth / 2; ++kept)
          sum += a_of(row, kept) *
                 b_of(kept / 2 * 4 + (kept % 2 == 0 ? each.first : each.second), column);
        ASSERT_EQ(d[t * 4 + i], sum) << each.metadata << " row " << row << " column " << column;
      }
    }
  }
  EXPECT_TRUE(recorder_.reports.empty());
}

} // namespace
} // namespace gmt::executor
