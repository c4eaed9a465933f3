// SPDX-License-Identifier: Apache-2.0
// Loops in which the time decides nothing but pauses.
#include "ptx/flow/time_loops.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

constexpr const char* kClockRegisters =
  ".reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %t<9>; .reg .b64 %a;\n"
  "ld.param.u64 %a, [p];\nmov.u64 %t0, %globaltimer;\n";

// The names of the registers that depend on the time, of each such loop.
std::string loops(const std::string& statements, bool is_kernel = true) {
  const test::Kernel kernel(kClockRegisters + statements + "\nret;");
  const Flow flow = flow_of(kernel.module, kernel.body);
  std::string text;
  for (const TimeLoop& loop : time_loops_of(kernel.body, flow, is_kernel)) {
    text += "[";
    for (const std::uint32_t r : loop.registers)
      text += std::string(kernel.body.registers[r].name) + " ";
    text.back() = ']';
  }
  return text;
}

// A pause that becomes longer, between looks at a flag.
std::string wait_with(const std::string& between, const std::string& end = "") {
  return "AGAIN: ld.volatile.global.u32 %r1, [%a];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n"
         "mov.u64 %t1, %globaltimer;\nsub.u64 %t2, %t1, %t0;\nsetp.lt.u64 %p2, %t2, 4000;\n" +
         between + "\nbra AGAIN;\nDONE:\n" + end;
}

TEST(PtxTimeLoops, Pauses) {
  EXPECT_EQ(loops(wait_with("cvt.u32.u64 %r2, %t2;\nnanosleep.u32 %r2;")), "[%t1 %t2 %p2 %r2]");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nnanosleep.u32 1000;\nSHORT:")), "[%t1 %t2 %p2]");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nmov.u32 %r3, 9;\nbra BOTH;\nSHORT: mov.u32 %r3, 1;\n"
                            "BOTH: nanosleep.u32 %r3;")),
            "[%t1 %t2 %p2 %r3]");
  EXPECT_EQ(loops(wait_with("@%p2 nanosleep.u32 1000;\nadd.u32 %r4, %r4, 1;")), "[%t1 %t2 %p2]");
}

// One that lasts until a later time, which decides only when the flag is looked at again.
TEST(PtxTimeLoops, Delays) {
  EXPECT_EQ(loops(wait_with("MORE: mov.u64 %t3, %clock64;\nsub.u64 %t4, %t3, %t1;\n"
                            "setp.lt.u64 %p3, %t4, 1000;\n@%p3 bra MORE;")),
            "[%t1 %t2 %p2 %t3 %t4 %p3]");
}

TEST(PtxTimeLoops, LoopsThatEnd) {
  EXPECT_EQ(loops(wait_with("@!%p2 bra DONE;")), "");
  EXPECT_EQ(loops(wait_with("@!%p2 exit;")), "");
  // By a register that the time decides
  EXPECT_EQ(loops(wait_with("selp.u32 %r3, 1, 0, %p2;\nsetp.eq.u32 %p3, %r3, 0;\n@%p3 bra DONE;")),
            "");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nadd.u32 %r4, %r4, 1;\nSHORT: setp.gt.u32 %p3, %r4, 9;"
                            "\n@%p3 bra DONE;")),
            "");
  EXPECT_EQ(loops(wait_with("@%p2 add.u32 %r4, %r4, 1;\nsetp.gt.u32 %p3, %r4, 9;\n@%p3 bra DONE;")),
            "");
}

TEST(PtxTimeLoops, TheTimeReachesOthers) {
  EXPECT_EQ(loops(wait_with("st.global.u64 [%a+8], %t2;")), "");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nst.global.u32 [%a+8], 1;\nSHORT:")), "");
  EXPECT_EQ(loops(wait_with("@%p2 red.global.add.u32 [%a+8], 1;")), "");
  EXPECT_EQ(loops(wait_with("cvt.u32.u64 %r2, %t2;\nshfl.sync.idx.b32 %r3, %r2, 0, 31, -1;")), "");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nbar.sync 0;\nSHORT:")), "");
  EXPECT_EQ(loops(wait_with("add.cc.u64 %t3, %t2, 1;")), "");
  EXPECT_EQ(loops(wait_with("@%p2 bra SHORT;\nnanosleep.u32 9;\nSHORT: activemask.b32 %r5;")), "");
}

// Behind the loop the time may decide something, unless the loop may be entered again.
TEST(PtxTimeLoops, BehindTheLoop) {
  const std::string code = wait_with("nanosleep.u32 9;", "st.global.u64 [%a+8], %t2;");
  EXPECT_EQ(loops(code), "[%t1 %t2 %p2]");
  EXPECT_EQ(loops(code, false), "");
  EXPECT_EQ(loops(wait_with("nanosleep.u32 9;"), false), "[%t1 %t2 %p2]");
}

TEST(PtxTimeLoops, NoTimeInALoop) {
  EXPECT_EQ(loops("AGAIN: ld.volatile.global.u32 %r1, [%a];\nsetp.ne.u32 %p1, %r1, 0;\n"
                  "nanosleep.u32 20;\n@%p1 bra AGAIN;"),
            "");
  EXPECT_EQ(loops("mov.u64 %t1, %globaltimer;\nst.global.u64 [%a], %t1;"), "");
}

} // namespace
} // namespace gmt::ptx
