// SPDX-License-Identifier: Apache-2.0
// Large functions: their code is not copied, so an access that would fault is made.
#include <string>
#include <string_view>

#include "tests/unit/rewriter/support/mistakes_fixture.h"

namespace gmt::rewriter {
namespace {

class UncopiedMistakes : public Mistakes {
protected:
  UncopiedMistakes() { most_copied_ = 0; }
};

std::size_t lines_with(const std::string& text, std::string_view word) {
  std::size_t lines = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++lines;
  return lines;
}

TEST_P(UncopiedMistakes, AreRecordedAndMade) {
  rewrite_kernel("mov.u32 %r2, 5; ld.global.u32 %r2, [%d1]; st.global.u32 [%d2], %r2;");
  const std::uint64_t q = world_->block(4);
  run(q + 100000, q);
  EXPECT_EQ(faults_, 1u);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(world_->used(), 1u);
  EXPECT_EQ(world_->record(0).address, q + 100000);
  EXPECT_EQ(world_->record(0).launch, 77u);
}

TEST_P(UncopiedMistakes, NoAccessStandsInTheTextTwice) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; ld.global.f32 %f1, [%d1+8]; st.global.u32 [%d2], %r2;");
  const std::string checked = rewritten_.text.substr(rewritten_.text.find("__gmt_checked_k"));
  EXPECT_EQ(lines_with(checked, "ld.global.f32 %f1, [%d1+8]"), 1u);
}

// Lanes that compute together stand in the midst of a group; its check comes before them.
TEST_P(UncopiedMistakes, AGroupGoesOnBehindWhatLanesDoTogether) {
  rewrite_kernel("ld.global.u32 %r2, [%d1]; shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffffffff;"
                 "ld.global.u32 %r4, [%d1+4]; add.u32 %r4, %r4, %r3; st.global.u32 [%d2], %r4;");
  const std::string checked = rewritten_.text.substr(rewritten_.text.find("__gmt_checked_k"));
  EXPECT_EQ(lines_with(checked, "__gmt_check_global, "), 2u); // of p and of q
  EXPECT_LT(checked.find("bra $gmt_"), checked.find("shfl"));
  const std::uint64_t p = world_->block(4), q = world_->block(4);
  set_word(p, 3);
  run(p, q, 32);
  EXPECT_EQ(count(0), 0u);
  EXPECT_EQ(count(1), 32u);
  EXPECT_EQ(count(2), 0u);
}

// Calls answer with a bit for each of 32 accesses, which is not used here.
TEST_P(UncopiedMistakes, EachOfManyAccessesIsCountedForItself) {
  std::string statements;
  for (unsigned i = 0; i < 40; ++i)
    statements += "ld.global.u32 %r2, [%d1+" + std::to_string(4 * i) + "];\n";
  rewrite_kernel(statements);
  run(world_->block(136), 0);
  for (std::size_t site = 0; site < 40; ++site) EXPECT_EQ(count(site), site < 34 ? 0u : 1u);
}

TEST_P(UncopiedMistakes, AGuardThatIsFalseMakesNone) {
  rewrite_kernel("setp.eq.u32 %p1, %r1, 3; @%p1 st.global.u32 [%d1], %r1;"
                 "@!%p1 st.global.u32 [%d2], %r1;");
  const std::uint64_t q = world_->block(64);
  run(64, q, 8);
  EXPECT_EQ(count(0), 1u);
  EXPECT_EQ(count(1), 0u);
  EXPECT_EQ(word(q), 7u);
}

INSTANTIATE_TEST_SUITE_P(Exact, UncopiedMistakes, testing::Values(0u));

} // namespace
} // namespace gmt::rewriter
