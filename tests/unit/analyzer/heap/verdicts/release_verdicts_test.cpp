// SPDX-License-Identifier: Apache-2.0
// What a refused release means, in the order in which it is asked. Nothing in the heap changes.

#include "analyzer/heap/verdicts/release_verdicts.h"

#include "tests/unit/analyzer/support/store_fixture.h"
#include "trace/cuda_results.h"

namespace gmt::test {
namespace {

using trace::FreeFunction;
using trace::MemoryKind;

class RefusedReleases : public StoreTest {
protected:
  // kNone if nothing is said.
  Verdict check(FreeFunction function, std::uint64_t address,
                std::uint16_t result = cuda::CUDA_ERROR_INVALID_VALUE) {
    verdicts.clear();
    const Event e =
      make(Made<trace::FreeFields>().address(address).function(function), {.result = result});
    if (function == FreeFunction::kHostFree) releases.check_host_free(e, verdicts);
    else releases.check_refused(e, verdicts);
    return verdicts.empty() ? Verdict{} : verdicts.all().front();
  }
  const ReleaseVerdicts releases{store, cuda.contexts};
};

TEST_F(RefusedReleases, ALiveBlockOfAnotherKind) {
  live(kBase, kSize, MemoryKind::kPinned);
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase).kind, Verdict::Kind::kMismatchedFree);
  // The right one, refused for another reason
  EXPECT_EQ(check(FreeFunction::kMemFreeHost, kBase).kind, Verdict::Kind::kNone);
  EXPECT_EQ(check(FreeFunction::kArrayDestroy, kBase).kind,
            Verdict::Kind::kMismatchedFree); // of another space
}

TEST_F(RefusedReleases, TheInsideOfALiveBlock) {
  live(kBase, kSize);
  const Verdict verdict = check(FreeFunction::kMemFree, kBase + 8);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kInvalidFreeInside);
  EXPECT_EQ(verdict.offset, 8u);
}

TEST_F(RefusedReleases, AFreedBlock) {
  live(kBase, kSize);
  free_block(kBase);
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase).kind, Verdict::Kind::kDoubleFree);
  EXPECT_EQ(check(FreeFunction::kMemFreeAsync, kBase).kind,
            // Whichever frees it
            Verdict::Kind::kDoubleFree);
  const Verdict inside = check(FreeFunction::kMemFree, kBase + 8);
  EXPECT_EQ(inside.kind, Verdict::Kind::kInvalidFreeUnknown);
  EXPECT_EQ(inside.offset, 8u);
}

TEST_F(RefusedReleases, ABlockThatEndedWithItsContext) {
  live(kBase, kSize);
  free_block(kBase, Block::End::kContextEnded);
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase + 8).kind, Verdict::Kind::kInvalidFreeEnded);
}

TEST_F(RefusedReleases, NothingOfThese) {
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase).kind, Verdict::Kind::kInvalidFreeUnknown);
  EXPECT_EQ(check(FreeFunction::kUnknown, kBase).kind, Verdict::Kind::kNone);
}

TEST_F(RefusedReleases, ResultsThatSayNothingAboutTheAddress) {
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_NOT_PERMITTED).kind,
            Verdict::Kind::kNone);
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED).kind,
            Verdict::Kind::kNone);
  EXPECT_EQ(check(FreeFunction::kArrayDestroy, kBase, cuda::CUDA_ERROR_CONTEXT_IS_DESTROYED).kind,
            Verdict::Kind::kInvalidFreeUnknown); // so the driver calls an array that is gone
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase, cuda::CUDA_ERROR_ILLEGAL_ADDRESS).kind,
            Verdict::Kind::kNone);
}

TEST_F(RefusedReleases, OfADeadContext) {
  describe_context(1, 0xc1, 0);
  cuda.contexts.on_sticky_error(
    make(Made<trace::SyncFields>(), {.result = cuda::CUDA_ERROR_ILLEGAL_ADDRESS}));
  EXPECT_EQ(check(FreeFunction::kMemFree, kBase).kind, Verdict::Kind::kNone);
}

TEST_F(RefusedReleases, FreeOfTheCLibrary) {
  live(kBase, kSize, MemoryKind::kPinned);
  EXPECT_EQ(check(FreeFunction::kHostFree, kBase, 0).kind, Verdict::Kind::kMismatchedFree);
  EXPECT_EQ(check(FreeFunction::kHostFree, kBase + 8, 0).kind, Verdict::Kind::kInvalidFreeInside);
  EXPECT_EQ(check(FreeFunction::kHostFree, 0x1000, 0).kind, Verdict::Kind::kNone);
}

} // namespace
} // namespace gmt::test
