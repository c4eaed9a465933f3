// SPDX-License-Identifier: Apache-2.0
// Basic blocks and where lanes meet again, also against a slow and simple way to find it.
#include "ptx/flow/flow.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

Flow flow(const test::Kernel& kernel) { return flow_of(kernel.module, kernel.body); }

constexpr const char* kP = ".reg .pred %p; .reg .b32 %r; .reg .b64 %rd;\n";

TEST(PtxFlow, AnIfMeetsBehindIt) {
  const test::Kernel kernel(std::string(kP) + "@%p bra ELSE;\nmov.u32 %r, 1;\nbra.uni END;\n"
                                              "ELSE: mov.u32 %r, 2;\nEND: mov.u32 %r, 3;\nret;");
  const Flow found = flow(kernel);
  ASSERT_EQ(found.blocks.size(), 4u);
  EXPECT_EQ(found.blocks[0].end, BlockEnd::kConditional);
  EXPECT_EQ(found.blocks[0].successors, (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(found.blocks[0].reconverges_at, 3u);
  EXPECT_EQ(found.reconvergence(0), 4u);
  EXPECT_EQ(found.blocks[1].end, BlockEnd::kBranch);
  EXPECT_EQ(found.blocks[2].end, BlockEnd::kFallThrough);
  EXPECT_EQ(found.blocks[3].end, BlockEnd::kLeave);
  EXPECT_EQ(found.reconvergence(3), kernel.body.instructions.size());
  EXPECT_EQ(found.block_of[4], 3u);
}

TEST(PtxFlow, ALoopMeetsBehindIt) {
  const test::Kernel kernel(std::string(kP) + "L: mov.u32 %r, 1;\n@%p bra L;\nret;");
  const Flow found = flow(kernel);
  ASSERT_EQ(found.blocks.size(), 2u);
  EXPECT_EQ(found.reconvergence(0), 2u);
  EXPECT_EQ(found.blocks[0].predecessors, std::vector<std::uint32_t>{0});
}

TEST(PtxFlow, AnExitInAnIfMeetsAtTheEnd) {
  const test::Kernel kernel(std::string(kP) + "@%p bra OUT;\nmov.u32 %r, 1;\nret;\nOUT: exit;");
  EXPECT_EQ(flow(kernel).blocks[0].reconverges_at, kNone);
  const test::Kernel guarded(std::string(kP) + "@%p exit;\nmov.u32 %r, 1;\nret;");
  const Flow found = flow(guarded);
  EXPECT_EQ(found.blocks[0].end, BlockEnd::kMayLeave);
  EXPECT_EQ(found.blocks[0].successors, std::vector<std::uint32_t>{1});
  EXPECT_EQ(found.blocks[0].reconverges_at, kNone);
}

TEST(PtxFlow, TablesLeadToAllTheirTargets) {
  const test::Kernel kernel(std::string(kP) +
                            "T: .branchtargets A, B, A;\n@%p bra C;\nbrx.idx %r, T;\n"
                            "A: mov.u32 %r, 1;\nB: mov.u32 %r, 2;\nC: ret;");
  const Flow found = flow(kernel);
  EXPECT_EQ(found.blocks[1].end, BlockEnd::kTable);
  EXPECT_EQ(found.blocks[1].successors, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(found.blocks[1].reconverges_at, 3u);
  EXPECT_EQ(found.blocks[0].reconverges_at, 4u);
}

TEST(PtxFlow, CallsThatNeverReturnLeave) {
  const test::Kernel kernel(std::string(kP) + "call stop;\nmov.u32 %r, 1;\ncall %rd, P;\ncall go;\n"
                                              "P: .callprototype _ () .noreturn;\nret;",
                            ".extern .func stop() .noreturn;\n.extern .func go();");
  const Flow found = flow(kernel);
  ASSERT_EQ(found.blocks.size(), 3u);
  EXPECT_EQ(found.blocks[0].end, BlockEnd::kLeave);
  EXPECT_TRUE(found.blocks[0].successors.empty());
  EXPECT_FALSE(found.blocks[1].reachable);
  EXPECT_EQ(found.blocks[1].end, BlockEnd::kLeave);
}

TEST(PtxFlow, LoopsWithoutAnEnd) {
  const test::Kernel kernel(std::string(kP) +
                            "L: @%p bra B;\nmov.u32 %r, 1;\nB: mov.u32 %r, 2;\nbra L;");
  EXPECT_EQ(flow(kernel).blocks[0].reconverges_at, 2u);
}

TEST(PtxFlow, CodeMayRunOverItsEnd) {
  const test::Kernel kernel(std::string(kP) + "@%p bra END;\nmov.u32 %r, 1;\nEND:");
  const Flow found = flow(kernel);
  ASSERT_EQ(found.blocks.size(), 2u);
  EXPECT_TRUE(found.blocks[0].falls_off);
  EXPECT_EQ(found.blocks[0].reconverges_at, kNone);
}

TEST(PtxFlow, NoCodeIsNoBlock) { EXPECT_TRUE(flow(test::Kernel("")).blocks.empty()); }

// Blocks that all ways from a block to the end pass, found by taking each one away.
class Reference {
public:
  explicit Reference(const Flow& flow) : flow_(flow) {}

  bool reaches_end(std::uint32_t from, std::uint32_t without) const {
    if (from == without) return false;
    std::vector<bool> seen(flow_.blocks.size());
    std::vector<std::uint32_t> open{from};
    seen[from] = true;
    while (!open.empty()) {
      const BasicBlock& block = flow_.blocks[open.back()];
      open.pop_back();
      if (block.end == BlockEnd::kLeave || block.end == BlockEnd::kMayLeave || block.falls_off)
        return true;
      for (const std::uint32_t next : block.successors) {
        if (next == without || seen[next]) continue;
        seen[next] = true;
        open.push_back(next);
      }
    }
    return false;
  }

  bool may_run_forever(std::uint32_t from) const {
    std::vector<bool> seen(flow_.blocks.size());
    std::vector<std::uint32_t> open{from};
    seen[from] = true;
    while (!open.empty()) {
      const std::uint32_t block = open.back();
      open.pop_back();
      if (!reaches_end(block, kNone)) return true;
      for (const std::uint32_t next : flow_.blocks[block].successors) {
        if (seen[next]) continue;
        seen[next] = true;
        open.push_back(next);
      }
    }
    return false;
  }

  bool dominates(std::uint32_t by, std::uint32_t block) const { return !reaches_end(block, by); }

  std::uint32_t immediate(std::uint32_t block) const {
    for (std::uint32_t by = 0; by < flow_.blocks.size(); ++by) {
      if (by == block || !dominates(by, block)) continue;
      bool nearest = true;
      for (std::uint32_t other = 0; other < flow_.blocks.size() && nearest; ++other) {
        if (other == by || other == block) continue;
        nearest = !dominates(other, block) || dominates(other, by);
      }
      if (nearest) return by;
    }
    return kNone;
  }

private:
  const Flow& flow_;
};

TEST(PtxFlow, RandomGraphsAsTheSlowWaySays) {
  std::mt19937 random(7);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t blocks = 2 + random() % 14;
    std::string code = kP;
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::string target = "L" + std::to_string(random() % blocks);
      code += "L" + std::to_string(b) + ": mov.u32 %r, 1;\n";
      switch (random() % 6) {
      case 0: code += "bra " + target + ";\n"; break;
      case 1: code += "ret;\n"; break;
      case 2: break;
      case 3: code += "@%p exit;\n"; break;
      default: code += "@%p bra " + target + ";\n";
      }
    }
    const test::Kernel kernel(code);
    const Flow found = flow(kernel);
    const Reference reference(found);
    for (std::uint32_t b = 0; b < found.blocks.size(); ++b) {
      // Loops without an end count as if they had one: the slow way does not know which.
      if (reference.may_run_forever(b)) continue;
      EXPECT_EQ(found.blocks[b].reconverges_at, reference.immediate(b)) << "block " << b << " of\n"
                                                                        << code;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

} // namespace
} // namespace gmt::ptx
