// SPDX-License-Identifier: Apache-2.0
// What a refused release means, in the order in which it is asked. Nothing in the heap changes.

#include "analyzer/heap/verdicts/release_verdicts.h"

#include "tests/unit/analyzer/support/store_fixture.h"
#include "trace/cuda_results.h"

namespace gmt::test {
namespace {

using trace::Family;
using trace::FreeFunction;

class RefusedReleases : public StoreTest {
protected:
  // kNone if nothing is said.
  Judgement judge(FreeFunction function, std::uint64_t address,
                  std::uint16_t result = cuda::CUDA_ERROR_INVALID_VALUE) {
    verdicts.clear();
    const Event e = make(Made<trace::FreeFields>().address(address).function(function), {.result = result});
    if (function == FreeFunction::kHostFree) releases.judge_host_free(e, verdicts);
    else releases.judge_refused(e, verdicts);
    return verdicts.empty() ? Judgement{} : verdicts.all().front();
  }
  const ReleaseVerdicts releases{store, cuda.contexts};
};

TEST_F(RefusedReleases, ALiveBlockOfAnotherKind) {
  live(kBase, kSize, Family::kPinned);
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase).verdict, Verdict::kMismatchedFree);
  EXPECT_EQ(judge(FreeFunction::kMemFreeHost, kBase).verdict, Verdict::kNone); // the right one, refused for another reason
  EXPECT_EQ(judge(FreeFunction::kArrayDestroy, kBase).verdict, Verdict::kMismatchedFree); // of another space
}

TEST_F(RefusedReleases, TheInsideOfALiveBlock) {
  live(kBase, kSize);
  const Judgement judgement = judge(FreeFunction::kMemFree, kBase + 8);
  EXPECT_EQ(judgement.verdict, Verdict::kInvalidFreeInside);
  EXPECT_EQ(judgement.offset, 8u);
}

TEST_F(RefusedReleases, AFreedBlock) {
  live(kBase, kSize);
  free_block(kBase);
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase).verdict, Verdict::kDoubleFree);
  EXPECT_EQ(judge(FreeFunction::kMemFreeAsync, kBase).verdict, Verdict::kDoubleFree); // whichever frees it
  const Judgement inside = judge(FreeFunction::kMemFree, kBase + 8);
  EXPECT_EQ(inside.verdict, Verdict::kInvalidFreeUnknown);
  EXPECT_EQ(inside.offset, 8u);
}

TEST_F(RefusedReleases, ABlockThatEndedWithItsContext) {
  live(kBase, kSize);
  free_block(kBase, Block::End::kContextEnded);
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase + 8).verdict, Verdict::kInvalidFreeEnded);
}

TEST_F(RefusedReleases, NothingOfThese) {
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase).verdict, Verdict::kInvalidFreeUnknown);
  EXPECT_EQ(judge(FreeFunction::kUnknown, kBase).verdict, Verdict::kNone);
}

TEST_F(RefusedReleases, ResultsThatSayNothingAboutTheAddress) {
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_NOT_PERMITTED).verdict, Verdict::kNone);
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED).verdict, Verdict::kNone);
  EXPECT_EQ(judge(FreeFunction::kArrayDestroy, kBase, cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED).verdict,
            Verdict::kInvalidFreeUnknown); // so the driver calls an array that is gone
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_ILLEGAL_ADDRESS).verdict, Verdict::kNone);
}

TEST_F(RefusedReleases, OfADeadContext) {
  describe_context(1, 0xc1, 0);
  cuda.contexts.on_sticky_error(make(Made<trace::SyncFields>(), {.result = cuda::CUDA_ERROR_ILLEGAL_ADDRESS}));
  EXPECT_EQ(judge(FreeFunction::kMemFree, kBase).verdict, Verdict::kNone);
}

TEST_F(RefusedReleases, FreeOfTheCLibrary) {
  live(kBase, kSize, Family::kPinned);
  EXPECT_EQ(judge(FreeFunction::kHostFree, kBase, 0).verdict, Verdict::kMismatchedFree);
  EXPECT_EQ(judge(FreeFunction::kHostFree, kBase + 8, 0).verdict, Verdict::kInvalidFreeInside);
  EXPECT_EQ(judge(FreeFunction::kHostFree, 0x1000, 0).verdict, Verdict::kNone);
}

} // namespace
} // namespace gmt::test
