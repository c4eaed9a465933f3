// SPDX-License-Identifier: Apache-2.0
// Memory that a launch cannot write, as its pointers say: loads of it leave no trace in the tables
// of races. Wherever it may be written, races are found as before.
#include "tests/unit/simulated_cuda/executor/support/global_race_runner.h"

namespace gmt::executor {
namespace {

class NeverWrittenTest : public GlobalRaceRunner {
protected:
  // Whether a load of the array `from` was looked at, where block 0 writes `to`.
  bool looks_at(const std::string& statements, std::uint64_t from, std::uint64_t to) {
    load_kernel(statements);
    recorder_.reports.clear();
    const std::uint64_t before = memory_.race_lines();
    EXPECT_EQ(run({4}, {64}, {from, to}).end, End::kDone);
    return memory_.race_lines() != before;
  }
  std::uint64_t words() { return put(std::vector<std::uint32_t>(4096)); }
};

const std::string kLoad = "ld.global.u32 %r5, [%x2];\n";

TEST_F(NeverWrittenTest, IsNotLookedAt) {
  EXPECT_FALSE(looks_at(kLoad, words(), words()));
  const std::uint64_t a = words(), b = words();
  const std::string writes = "add.u64 %x4, %x3, 64; @%p1 st.global.u32 [%x4], %r0;";
  EXPECT_TRUE(looks_at(kLoad + writes, a, b)); // the store's lines alone
  EXPECT_EQ(memory_.race_lines(), 3u);
}

// The first warp of a block loads what another block writes.
const std::string kReadsOthers = "@!%p1 ld.global.u32 %r5, [%x2 + -256];\n";

TEST_F(NeverWrittenTest, MemoryOfTheSameBlock) {
  const std::uint64_t a = words();
  looks_at(kReadsOthers + "st.global.u32 [%x3], %r0;", a, a);
  EXPECT_EQ(recorder_.reports.size(), 1u);
  looks_at(kReadsOthers + "st.global.u32 [%x3], %r0;", a + 64, a); // in the middle of it
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(NeverWrittenTest, APointerThatIsNotFollowed) {
  const std::uint64_t a = words();
  const std::vector<std::uint64_t> pointer{a};
  looks_at(kReadsOthers + "ld.global.u64 %x5, [%x1]; mad.wide.u32 %x5, %r2, 4, %x5;\n"
                          "st.global.u32 [%x5], %r0;",
           a, put(pointer));
  EXPECT_EQ(recorder_.reports.size(), 1u);
  // One of the two
  looks_at(kReadsOthers + "setp.lt.u32 %p2, %r0, 64; selp.b64 %x5, %x2, %x3, %p2;\n"
                          "st.global.u32 [%x5], %r0;",
           a, words());
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(NeverWrittenTest, AnAtomicWrites) {
  const std::uint64_t a = words();
  looks_at(kReadsOthers + "red.global.add.u32 [%x3], 1;", a, a);
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(NeverWrittenTest, AFunctionThatWrites) {
  const std::uint64_t a = words();
  load(".func f(.param .b64 p) { .reg .b64 %x; .reg .b32 %r; ld.param.b64 %x, [p];\n"
       "mov.u32 %r, 1; st.global.u32 [%x], %r; ret; }\n"
       ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
       ".reg .b32 %r<8>; .reg .b64 %x<8>; .reg .pred %p<2>;\n"
       "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %ctaid.x;\n"
       "ld.global.u32 %r1, [%x0]; setp.ne.u32 %p0, %r0, 1; @%p0 bra E;\n"
       "{ .param .b64 a; st.param.b64 [a], %x1; call f, (a); }\nE: ret; }\n");
  run({4}, {1}, {a, a});
  EXPECT_EQ(recorder_.reports.size(), 1u);
}

TEST_F(NeverWrittenTest, WhereBlocksAreNotKnown) {
  knows_blocks_ = false;
  EXPECT_TRUE(looks_at(kLoad, words(), words()));
}

} // namespace
} // namespace gmt::executor
