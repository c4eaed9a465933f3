// SPDX-License-Identifier: Apache-2.0
// Special registers that lead to memory.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

using SpecialTest = KernelRunner;

// Threads hand values to each other there, beside what the kernel declares; behind it is nothing.
TEST_F(SpecialTest, SharedMemoryOfTheSystem) {
  load(
    ".shared .align 4 .b8 own[128];\n"
    ".visible .entry k(.param .u64 p) { .reg .pred %p; .reg .b32 %r<10>;\n"
    ".reg .b64 %x<4>;\n"
    "ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %reserved_smem_offset_1;\n"
    "cvt.u64.u32 %x1, %r1; cvta.shared.u64 %x1, %x1; mul.wide.u32 %x2, %r0, 4;\n"
    "add.u64 %x1, %x1, %x2; st.u32 [%x1], %r0; mov.u32 %r2, own; mad.lo.u32 %r2, %r0, 4, %r2;\n"
    "st.shared.u32 [%r2], 7; bar.sync 0; xor.b32 %r3, %r0, 31; mad.lo.u32 %r4, %r3, 4, %r1;\n"
    "ld.shared.u32 %r5, [%r4]; add.u64 %x2, %x0, %x2; st.global.u32 [%x2], %r5;\n"
    "mov.u32 %r6, %reserved_smem_offset_end; setp.eq.u32 %p, %r0, 0; @%p st.shared.u32 [%r6], 1;\n"
    "ret; }\n");
  EXPECT_EQ(module_->find_kernel("k")->shared_bytes, 128u) << "the kernel's own";
  const std::uint64_t a = allocate(128);
  EXPECT_EQ(run({1}, {32}, {a}).end, End::kDone);
  EXPECT_EQ(only().kind, ReportKind::kOutOfBounds);
  EXPECT_EQ(only().neighbour_name, "of the system");
  EXPECT_EQ(only().neighbour_bytes, 1024u);
  EXPECT_EQ(only().address, only().neighbour_begin + 1024);
  const auto out = get<std::uint32_t>(a, 32);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i ^ 31u);
}

// It is zero at a block's start, and what orders accesses there are atomics of the system's own
// functions.
TEST_F(SpecialTest, SharedMemoryOfTheSystemIsItsOwnBusiness) {
  load(".visible .entry k(.param .u64 p) { .reg .b32 %r<10>; .reg .b64 %x<4>;\n"
       "ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %reserved_smem_offset_1;\n"
       "atom.shared.add.u32 %r2, [%r1], 1; st.shared.u32 [%r1+4], %r0; ret; }\n");
  run({1}, {64}, {allocate(4)});
  expect_no_reports();
}

} // namespace
} // namespace gmt::executor
