// SPDX-License-Identifier: Apache-2.0
// Tracked registers: what the default checks report though it does no harm, what they miss, and
// what both find.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class Tracking : public KernelRunner {
protected:
  Tracking() { checks_ = Checks::kFull; }
  static std::string kernel(const std::string& statements, const std::string& before = "") {
    return before +
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %x<16>;\n"
           ".local .align 8 .b8 own[64];\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
           "mad.wide.u32 %x2, %r0, 4, %x0; mad.wide.u32 %x3, %r0, 4, %x1;\n" +
           statements + "\nret; }\n";
  }
  // %x2 leads to a word of written memory, %x3 to one that nothing wrote.
  void run_both(const std::string& statements, const std::string& before = "") {
    recorder_.reports.clear();
    load(kernel(statements, before));
    written_ = put(std::vector<std::uint32_t>(32, 1));
    unwritten_ = allocate(128);
    EXPECT_EQ(run({1}, {32}, {written_, unwritten_}).end, End::kDone);
  }
  // The reports of the same kernel with the default checks.
  std::size_t default_reports() {
    recorder_.reports.clear();
    checks_ = Checks::kDefault;
    memory_.mark_uninitialized(unwritten_, 128);
    run({1}, {32}, {written_, unwritten_});
    return recorder_.reports.size();
  }
  std::uint64_t written_ = 0, unwritten_ = 0;
};

TEST_F(Tracking, AValueThatIsNotChosenDoesNoHarm) {
  run_both("ld.global.u32 %r1, [%x3]; add.u32 %r1, %r1, 5; setp.gt.u32 %p1, %r0, 99;\n"
           "selp.b32 %r2, %r1, %r0, %p1; setp.lt.u32 %p2, %r2, 7; @%p2 mov.u32 %r2, 7;\n"
           "st.global.u32 [%x2], %r2;");
  expect_no_reports();
  EXPECT_EQ(get<std::uint32_t>(written_, 1)[0], 7u);
  EXPECT_EQ(default_reports(), 1u) << "too eager";
}

TEST_F(Tracking, AComparisonThatAnotherDecides) {
  run_both("ld.global.u32 %r1, [%x3]; setp.gt.u32 %p1, %r0, 99;\n"
           "setp.eq.and.u32 %p2, %r1, 0, %p1; @%p2 bra A; st.global.u32 [%x2], %r0; A:");
  expect_no_reports();
  EXPECT_EQ(default_reports(), 1u) << "too eager";
}

TEST_F(Tracking, ABranchNamesTheLoadAndTheUse) {
  run_both("ld.global.u32 %r1, [%x3]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
           "st.global.u32 [%x2], %r0; A:");
  const Report& report = only();
  EXPECT_EQ(report.kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(report.place.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(report.access, Access::kLoad);
  EXPECT_EQ(report.bytes, 4u);
  EXPECT_EQ(report.count, 32u);
  EXPECT_EQ(report.address, unwritten_);
  EXPECT_EQ(report.place.thread.x, 0u);
  ASSERT_TRUE(report.has_other);
  EXPECT_EQ(report.other.instruction, "@%p1 bra A");
}

TEST_F(Tracking, APartOfAWordThatDecides) {
  load(kernel("ld.global.u32 %r1, [%x3]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;\n"
              "st.global.u32 [%x2], %r0; A:"));
  written_ = put(std::vector<std::uint32_t>(32));
  unwritten_ = put(std::vector<std::uint32_t>(32));
  memory_.mark_uninitialized(unwritten_ + 43, 1);
  run({1}, {32}, {written_, unwritten_});
  EXPECT_EQ(only().count, 1u);
  EXPECT_EQ(only().place.thread.x, 10u);
  recorder_.reports.clear();
  checks_ = Checks::kDefault;
  run({1}, {32}, {written_, unwritten_});
  expect_no_reports(); // missed
}

TEST_F(Tracking, AnAddress) {
  load(kernel("ld.global.u64 %x4, [%x1]; shl.b64 %x4, %x4, 62; shr.u64 %x4, %x4, 60;\n"
              "add.u64 %x5, %x0, %x4; st.global.u32 [%x5], 1;"));
  const std::uint64_t a = put(std::vector<std::uint32_t>(32)), b = allocate(128);
  run({1}, {1}, {a, b});
  EXPECT_EQ(only().place.instruction, "ld.global.u64 %x4, [%x1]");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x5], 1");
}

TEST_F(Tracking, ARegisterThatNothingWrote) {
  run_both("setp.eq.u32 %p1, %r9, 3; @%p1 bra A; st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().place.instruction, "@%p1 bra A");
  EXPECT_FALSE(only().has_address);
  EXPECT_FALSE(only().has_other);
  EXPECT_EQ(default_reports(), 0u) << "missed";
}

TEST_F(Tracking, LocalMemoryThatNothingWrote) {
  run_both("mov.u64 %x4, own; st.local.u32 [%x4+8], %r0; ld.local.v2.u32 {%r1, %r2}, [%x4+8];\n"
           "setp.eq.u32 %p1, %r1, 99; @%p1 bra A; setp.eq.u32 %p1, %r2, 1; @%p1 bra A;\n"
           "st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().place.instruction, "ld.local.v2.u32 {%r1, %r2}, [%x4+8]");
  EXPECT_EQ(only().space, Space::kLocal);
  EXPECT_EQ(only().address, 8u);
  EXPECT_EQ(default_reports(), 0u) << "missed";
}

TEST_F(Tracking, FieldsOfBits) {
  const std::string set = "ld.global.u8 %h0, [%x3]; and.b16 %h0, %h0, 0xfb; or.b16 %h0, %h0, 4;\n"
                          "st.global.u8 [%x3], %h0;\n";
  run_both(set + "and.b16 %h1, %h0, 4; setp.ne.s16 %p1, %h1, 0; @%p1 bra A;\n"
                 "st.global.u32 [%x2], %r0; A:");
  expect_no_reports();
  run_both(set + "and.b16 %h1, %h0, 8; setp.ne.s16 %p1, %h1, 0; @%p1 bra A;\n"
                 "st.global.u32 [%x2], %r0; A:");
  EXPECT_EQ(only().other.instruction, "@%p1 bra A");
}

TEST_F(Tracking, MovesTakeTheStateAlong) {
  run_both("ld.global.u32 %r1, [%x3]; mov.u32 %r2, %r1; mov.b64 %x4, {%r2, %r0};\n"
           "mov.u32 %r5, tile; mad.lo.u32 %r6, %r0, 8, %r5; st.shared.u64 [%r6], %x4;\n"
           "bar.sync 0; ld.shared.v2.u32 {%r3, %r4}, [%r6];\n"
           "shfl.sync.idx.b32 %r7, %r3, 5, 31, -1; st.global.u32 [%x2], %r7;\n"
           "setp.gt.u32 %p1, %r4, 99; @%p1 bra A; A:",
           ".shared .align 8 .b8 tile[256];\n");
  expect_no_reports();
  EXPECT_EQ(memory_.first_uninitialized(written_, 128), written_);
}

TEST_F(Tracking, AResultThatTheHostMaySee) {
  run_both("ld.global.u32 %r1, [%x3]; mul.lo.u32 %r1, %r1, 3; st.global.u32 [%x2], %r1;");
  EXPECT_EQ(only().place.instruction, "ld.global.u32 %r1, [%x3]");
  EXPECT_EQ(only().other.instruction, "st.global.u32 [%x2], %r1");
  EXPECT_EQ(memory_.first_uninitialized(written_, 128), written_ + 128) << "said once";
}

TEST_F(Tracking, ArgumentsAndResultsOfFunctions) {
  const char* function =
    ".func (.param .b32 out) choose(.param .b32 a, .param .b32 b) { .reg .b32 %r<4>;\n"
    ".reg .pred %p; ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; setp.ne.u32 %p, %r1, 0;\n"
    "selp.b32 %r2, %r0, %r1, %p; st.param.b32 [out], %r2; ret; }\n";
  const std::string call =
    "ld.global.u32 %r1, [%x3]; ld.global.u32 %r2, [%x2];\n"
    "{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r1;\n"
    "st.param.b32 [b], WHICH; call.uni (c), choose, (a, b); ld.param.b32 %r3, [c]; }\n"
    "setp.eq.u32 %p1, %r3, 77; @%p1 bra A; st.global.u32 [%x2], 5; A:";
  const auto with = [&](const char* which) {
    std::string text = call;
    return text.replace(text.find("WHICH"), 5, which);
  };
  run_both(with("0"), function);
  expect_no_reports();
  run_both(with("%r2"), function);
  EXPECT_EQ(only().kind, ReportKind::kUninitializedRead);
  EXPECT_EQ(only().count, 32u);
}

TEST_F(Tracking, LoopsAndDivergenceComputeTheSame) {
  run_both("mov.u32 %r1, 0; mov.u32 %r2, 0; A: add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1;\n"
           "setp.le.u32 %p1, %r1, %r0; @%p1 bra A; and.b32 %r3, %r0, 3;\n"
           "T: .branchtargets B, C, B, C; brx.idx %r3, T; B: add.u32 %r2, %r2, 100; C:\n"
           "vote.sync.ballot.b32 %r4, %p1, -1; add.u32 %r2, %r2, %r4; st.global.u32 [%x2], %r2;");
  expect_no_reports();
  const auto out = get<std::uint32_t>(written_, 32);
  for (std::uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i * (i + 1) / 2 + (i % 2 == 0 ? 100 : 0)) << i;
}

} // namespace
} // namespace gmt::executor
