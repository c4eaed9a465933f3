// SPDX-License-Identifier: Apache-2.0
// Instructions with fewer or more operands than their handlers read: their launch is left out, and
// says why.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {
namespace {

class RefusedOperands : public KernelRunner {
protected:
  Outcome run_with(const std::string& instruction) {
    load(".visible .entry k(.param .u64 p) { .reg .b32 %r<4>; .reg .f32 %f<4>;\n" + instruction +
         "\nret; }\n");
    return run({1}, {32}, {0});
  }
};

TEST_F(RefusedOperands, OfConversions) {
  for (const char* text :
       {"cvt.rn.f16x2.f32 %r1, %f0;", "cvt.rn.satfinite.e4m3x2.f32 %r1, %f0;",
        "cvt.rn.f16.f32 %r1, %f0, %f1;", "cvt.u32.u16 %r1, %r0, %r0;",
        "cvt.pack.sat.u8.s32.b32 %r1, %r0, %r0;", "cvt.pack.sat.u16.s32 %r1, %r0, %r0, %r0;"}) {
    const Outcome outcome = run_with(text);
    EXPECT_EQ(outcome.end, End::kSkipped) << text;
    EXPECT_NE(outcome.reason.find("too few or too many operands"), std::string::npos)
      << text << ": " << outcome.reason;
  }
  EXPECT_EQ(run_with("cvt.rn.f16x2.f32 %r1, %f0, %f1;").end, End::kDone);
}

} // namespace
} // namespace gmt::executor
