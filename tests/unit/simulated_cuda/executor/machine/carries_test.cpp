// SPDX-License-Identifier: Apache-2.0
// Chains of carries in which additions and subtractions meet: the results are those of an H100.
// nvcc's division of 128-bit integers adds the carry of a subtraction.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <array>

namespace gmt::executor {
namespace {

class Carries : public KernelRunner {
protected:
  // The last register of the chain, for each pair of operands.
  std::array<std::int32_t, 5> ends_of(const std::string& chain) {
    load(".visible .entry k(.param .u64 p) { .reg .b32 %r<8>; .reg .b64 %x<4>;\n"
         "ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %x1, %r0, 8;\n"
         "add.u64 %x1, %x0, %x1; ld.global.v2.u32 {%r1, %r2}, [%x1];\n" +
         chain + "\nst.global.u32 [%x1], %r4; ret; }\n");
    const std::uint64_t a = put(std::vector<std::uint32_t>{5, 3, 3, 5, 5, 5, ~0u, 1, 0, 0});
    run({1}, {5}, {a});
    expect_no_reports();
    const auto out = get<std::int32_t>(a, 10);
    return {out[0], out[2], out[4], out[6], out[8]};
  }
  using Ends = std::array<std::int32_t, 5>;
};

TEST_F(Carries, OfASubtractionIntoAnAddition) {
  EXPECT_EQ(ends_of("sub.cc.u32 %r3, %r1, %r2; addc.u32 %r4, 0, 0;"), (Ends{1, 0, 1, 1, 1}));
  EXPECT_EQ(ends_of("sub.cc.u32 %r3, %r1, %r2; subc.cc.u32 %r3, %r1, %r2; addc.u32 %r4, 0, 0;"),
            (Ends{1, 0, 1, 1, 1}));
  EXPECT_EQ(ends_of("sub.cc.u32 %r3, %r1, %r2; madc.lo.u32 %r4, 0, 0, 0;"), (Ends{1, 0, 1, 1, 1}));
  EXPECT_EQ(ends_of("cvt.u64.u32 %x2, %r1; cvt.u64.u32 %x3, %r2; sub.cc.u64 %x2, %x2, %x3;\n"
                    "addc.u64 %x2, 0, 0; cvt.u32.u64 %r4, %x2;"),
            (Ends{1, 0, 1, 1, 1}));
}

TEST_F(Carries, OfAnAdditionIntoASubtraction) {
  EXPECT_EQ(ends_of("add.cc.u32 %r3, %r1, %r2; subc.u32 %r4, 0, 0;"), (Ends{-1, -1, -1, 0, -1}));
}

TEST_F(Carries, OfASubtractionIntoASubtraction) {
  EXPECT_EQ(ends_of("sub.cc.u32 %r3, %r1, %r2; subc.u32 %r4, 0, 0;"), (Ends{0, -1, 0, 0, 0}));
}

} // namespace
} // namespace gmt::executor
