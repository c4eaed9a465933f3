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
  // those of the next one, and 128 bytes on the next 16.
  static std::string kernel(const std::string& type, std::uint32_t metadata) {
    std::ostringstream text;
    text << ".shared .align 128 .b8 s[512];\n"
            ".visible .entry k(.param .u64 p, .param .u64 b, .param .u64 q) { .reg .pred %p;\n"
            ".reg .b32 %r<8>, %a<4>, %e, %d<4>; .reg .b64 %x<8>; ld.param.u64 %x0, [p];\n"
            "ld.param.u64 %x1, [b]; ld.param.u64 %x2, [q]; mov.u32 %r0, %tid.x;\n"
            "mul.wide.u32 %x3, %r0, 4; add.u64 %x1, %x1, %x3; mul.wide.u32 %x3, %r0, 16;\n"
            "add.u64 %x0, %x0, %x3; add.u64 %x2, %x2, %x3; mov.u32 %r1, s;\n"
            "mad.lo.u32 %r2, %r0, 4, %r1; ld.global.b32 %r3, [%x1]; st.shared.b32 [%r2], %r3;\n"
            "ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%x0]; shr.u32 %r2, %r1, 4;\n"
            "cvt.u64.u32 %x4, %r2; or.b64 %x4, %x4, "
         << (std::uint64_t{128} >> 4 << 16 | std::uint64_t{512} >> 4 << 32) << ";\nmov.u32 %e, "
         << metadata << "; fence.proxy.async; bar.sync 0;\n"
         << "wgmma.fence.sync.aligned; setp.ne.u32 %p, %r0, %r0;\n"
            "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32."
         << type << "." << type
         << " {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %x4, %e, 0, %p, 1, 1, 0;\n"
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
            "st.global.v4.b32 [%x2], {%d0, %d1, %d2, %d3}; ret; }\n";
    return text.str();
  }
};

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
    load(kernel("bf16", each.metadata));
    const std::uint64_t q = allocate(kGroup * 16);
    ASSERT_EQ(run({1}, {kGroup}, {put(a), put(b), q}).end, End::kDone);
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
