// SPDX-License-Identifier: Apache-2.0
// Sentences and labels from a finding's data: which name a call gets, what an owner adds, where the
// full stop stands.
#include <gtest/gtest.h>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"
#include "analyzer/wording/wording.h"

namespace gmt {
namespace {

// As a static runtime's symbols would say.
CallNames names(std::vector<CallNames::Renamed> renamed) {
  return {.renamed = std::move(renamed), .is_runtime = true};
}

Finding double_free() {
  Finding f;
  f.kind = "double-free";
  f.message = {CallName{"cuMemFree"}, " of 0x10, by ", CallName{"cuMemAlloc"}};
  f.advice = {"Call ", ApiWord{false, "cuMemFree", "cudaFree"}, " once; cuMemFree is a word."};
  f.stacks = {stack_as(StackRole::kFreed, {}, "cuMemFree", StackOrder::kAgain),
              stack_as(StackRole::kFreed, {}, "cuMemFreeAsync", StackOrder::kFirst)};
  return f;
}

TEST(Wording, KeepsTheNamesThatWereRecorded) {
  const ReportedFinding f = in_words(double_free(), {});
  EXPECT_EQ(f.message, "cuMemFree of 0x10, by cuMemAlloc.");
  EXPECT_EQ(f.advice, "Call cuMemFree once; cuMemFree is a word.");
}

TEST(Wording, NamesCallsAsTheProgramWroteThem) {
  const ReportedFinding f = in_words(double_free(), names({{"cuMemFree", "cudaFree"}}));
  EXPECT_EQ(f.message, "cudaFree of 0x10, by cuMemAlloc.");
  EXPECT_EQ(f.advice, "Call cudaFree once; cuMemFree is a word."); // what is no call's name stays
}

TEST(Wording, ErrorsAreTheRuntimesToo) {
  Finding f;
  f.message = {CallName{"cuCtxSetLimit"}, " failed with ", error_text(1, false),
               "; CUDA_ERROR_IS_NO_CODE"};
  EXPECT_EQ(in_words(f, {}).message,
            "cuCtxSetLimit failed with CUDA_ERROR_INVALID_VALUE (1); CUDA_ERROR_IS_NO_CODE.");
  EXPECT_EQ(in_words(f, names({{"cuCtxSetLimit", "cudaDeviceSetLimit"}})).message,
            "cudaDeviceSetLimit failed with cudaErrorInvalidValue (1); CUDA_ERROR_IS_NO_CODE.");
  EXPECT_EQ(in_words(f, {.renamed = {{"cuCtxSetLimit", "cuCtxLimit"}}}).message,
            "cuCtxLimit failed with CUDA_ERROR_INVALID_VALUE (1); CUDA_ERROR_IS_NO_CODE.");
}

TEST(Wording, KnowsWhichCallsTheMessageNames) {
  Finding finding = double_free();
  finding.message += ", a deleted one"; // this is no call
  finding.stacks.push_back(stack_as(StackRole::kFreed, {}, "delete"));
  finding.stacks.push_back(stack_as(StackRole::kHostMemoryFreed, {}, "free")); // the label says it
  const ReportedFinding f = in_words(finding, {});
  EXPECT_FALSE(f.stacks[0].shows_call);
  EXPECT_TRUE(f.stacks[1].shows_call);
  EXPECT_TRUE(f.stacks[2].shows_call);
  EXPECT_FALSE(f.stacks[3].shows_call);
}

TEST(Wording, LabelsStacksByWhatHappenedThere) {
  const ReportedFinding f = in_words(double_free(), {});
  EXPECT_EQ(f.stacks[0].label, "freed again here");
  EXPECT_EQ(f.stacks[1].label, "first freed here");
  EXPECT_EQ(stack_label(StackRole::kUnregistered, StackOrder::kTooLate),
            "unregistered too late here");
  EXPECT_EQ(stack_label(StackRole::kAllocated, StackOrder::kNeighbour), "neighbour allocated here");
  EXPECT_EQ(stack_label(StackRole::kHeld, StackOrder::kOnly, MemoryAmount{3 << 20, 2}),
            "held here: 3.0 MiB in 2 blocks");
}

TEST(Wording, EachTensorOfASentenceHasTheStackOfItsNumber) {
  Finding f;
  f.kind = "growth";
  f.message = {"made ", TensorSite{}, " and ", TensorSite{}};
  const auto message_of = [&f](std::vector<std::string> sites) {
    CallNames names;
    names.tensor_sites = std::move(sites);
    return in_words(f, names).message;
  };
  EXPECT_EQ(message_of({"at a.py:1", "at a.py:2"}), "made at a.py:1 and at a.py:2.");
  EXPECT_EQ(message_of({"at a.py:1", "at a.py:1"}),
            "made at a.py:1 and by other calls in that line.");
  EXPECT_EQ(message_of({"at a.py:1"}), "made at a.py:1 and by PyTorch.");
}

TEST(Wording, AddsWhatAnOwnerDoes) {
  Finding f;
  f.kind = "leak";
  f.message = "1.0 MiB was never freed";
  f.advice = "Call cudaFree.";
  f.owner = {"cuBLAS", "its workspace lives as long as the handle"};
  const ReportedFinding reported = in_words(f, {});
  EXPECT_EQ(reported.message,
            "1.0 MiB was never freed; cuBLAS holds it: its workspace lives as long as the handle.");
  EXPECT_EQ(reported.owner_clause, "; cuBLAS holds it: its workspace lives as long as the handle");
  EXPECT_EQ(reported.advice, "Nothing to do, unless it grows from run to run.");
  EXPECT_EQ(reported.owner, "cuBLAS");
  f.kind = "uncoalesced";
  EXPECT_EQ(in_words(f, {}).message, "1.0 MiB was never freed.");
  EXPECT_EQ(in_words(f, {}).advice,
            "This is cuBLAS's own kernel: nothing to do, unless another of its functions, data "
            "types or layouts serves as well.");
  f.kind = "double-free"; // no library is excused
  EXPECT_EQ(in_words(f, {}).advice, "Call cudaFree.");
}

// Users hold these: such kinds count allocations, and the last line of a report sums up what is
// lost.
TEST(Wording, MeasuresByKind) {
  const auto measure_of = [](const char* kind) {
    Finding f;
    f.kind = kind;
    return in_words(f, {}).measure;
  };
  EXPECT_EQ(measure_of("leak"), Measure::kLostBlocks);
  EXPECT_EQ(measure_of("device-heap-leak"), Measure::kLostBlocks);
  EXPECT_EQ(measure_of("unused"), Measure::kBlocks);
  EXPECT_EQ(measure_of("oversized"), Measure::kBlocks);
  EXPECT_EQ(measure_of("double-free"), Measure::kMistakes);
  EXPECT_EQ(measure_of("no-such-kind"), Measure::kMistakes);
}

TEST(Detectors, SortedAndDescribed) {
  std::string_view last;
  for (const DetectorInfo* info : detectors()) {
    EXPECT_LT(last, info->id);
    last = info->id;
    EXPECT_FALSE(info->title.empty());
  }
  EXPECT_EQ(last, "use-after-free");
}

} // namespace
} // namespace gmt
