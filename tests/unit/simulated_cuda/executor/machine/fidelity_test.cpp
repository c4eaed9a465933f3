// SPDX-License-Identifier: Apache-2.0
// What a launch says about its results: which instructions a GPU may compute otherwise and how
// often they were executed, and where a launch was that was stopped.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <algorithm>

namespace gmt::executor {
namespace {

class Fidelity : public KernelRunner {
protected:
  static std::string kernel(const std::string& body) {
    return ".visible .entry k(.param .u64 out) {\n.reg .f32 %f<8>; .reg .b32 %r<8>; .reg .b64 %x<4>;"
           ".reg .pred %p<4>;\nld.param.u64 %x1, [out]; mov.u32 %r0, %tid.x;\n"
           "cvt.rn.f32.u32 %f0, %r0;\n" +
           body + "\nret; }";
  }
  Outcome outcome(const std::string& body, std::uint32_t threads = 32) {
    load(kernel(body));
    return run({1, 1, 1}, {threads, 1, 1}, {put(std::vector<float>(64))});
  }
  // Of a feature; -1 if it is not there.
  static long count(const Outcome& outcome, const std::string& feature) {
    const auto found = std::ranges::find(outcome.inexact, feature, &Inexact::feature);
    return found == outcome.inexact.end() ? -1 : static_cast<long>(found->thread_instructions);
  }
};

TEST_F(Fidelity, ApproximateInstructionsAreCountedByThreads) {
  const Outcome done = outcome("ex2.approx.f32 %f1, %f0; ex2.approx.f32 %f1, %f1;\n"
                               "setp.lt.u32 %p1, %r0, 5; @%p1 sin.approx.f32 %f2, %f0;\n"
                               "setp.gt.u32 %p2, %r0, 999; @%p2 lg2.approx.f32 %f2, %f0;",
                               40);
  EXPECT_EQ(done.end, End::kDone) << done.reason;
  EXPECT_EQ(count(done, "ex2.f32"), 80);
  EXPECT_EQ(count(done, "sin.f32"), 5);
  EXPECT_EQ(count(done, "lg2.f32"), -1);
  EXPECT_EQ(done.inexact.size(), 2u);
}

TEST_F(Fidelity, EachLaunchCountsItsOwn) {
  load(kernel("ex2.approx.f32 %f1, %f0;"));
  const std::uint64_t out = put(std::vector<float>(64));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(count(run({2, 1, 1}, {32, 1, 1}, {out}), "ex2.f32"), 64);
}

TEST_F(Fidelity, SumsOfSeveralThreadsDependOnTheirOrder) {
  const Outcome done = outcome("atom.global.add.f32 %f1, [%x1], %f0; red.global.add.f32 [%x1], %f0;"
                               "atom.global.add.u32 %r1, [%x1], 1;");
  EXPECT_EQ(count(done, "atom.add.f32"), 32);
  EXPECT_EQ(count(done, "red.add.f32"), 32);
  EXPECT_EQ(done.inexact.size(), 2u);
}

TEST_F(Fidelity, ProductsThatAreAddedMayBeJoined) {
  EXPECT_EQ(count(outcome("mul.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0;"), "mul.f32 and add.f32"),
            0);
  EXPECT_EQ(
    count(outcome("mul.ftz.f32 %f1, %f0, %f0; sub.ftz.f32 %f2, %f0, %f1;"), "mul.f32 and sub.f32"),
    0);
}

TEST_F(Fidelity, WhatNamesItsRoundingIsExact) {
  for (const char* body :
       {"mul.rn.f32 %f1, %f0, %f0; add.f32 %f2, %f1, %f0;",
        "mul.f32 %f1, %f0, %f0; add.rn.f32 %f2, %f1, %f0;",
        "mul.f32 %f1, %f0, %f0; add.f32 %f2, %f0, %f0;", "fma.rn.f32 %f1, %f0, %f0, %f0;",
        "mul.lo.u32 %r1, %r0, %r0; add.u32 %r2, %r1, %r0;", "div.rn.f32 %f1, %f0, %f0;"})
    EXPECT_TRUE(outcome(body).inexact.empty()) << body;
}

TEST_F(Fidelity, AStoppedLaunchSaysWhereItWas) {
  limits_.instructions = 100'000;
  const Outcome stopped =
    outcome("A: ld.volatile.global.u32 %r1, [%x1]; setp.eq.u32 %p1, %r1, 0;\n@%p1 bra A;");
  EXPECT_EQ(stopped.end, End::kStopped);
  EXPECT_EQ(stopped.location.function, "k");
  EXPECT_TRUE(stopped.location.has_thread);
  const std::string& at = stopped.location.instruction;
  EXPECT_TRUE(at.starts_with("ld.volatile") || at.starts_with("setp") || at.starts_with("bra") ||
              at.starts_with("@%p1 bra"))
    << at;
}

TEST_F(Fidelity, AFinishedLaunchWasNowhere) {
  EXPECT_TRUE(outcome("mov.u32 %r1, 0;").location.function.empty());
}

} // namespace
} // namespace gmt::executor
