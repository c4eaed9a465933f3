// SPDX-License-Identifier: Apache-2.0
// Copies from and to tensors of PyTorch, and launches: what is past their end or was taken back is
// a mistake, unless the memory may be that of a graph, which uses it again without asking.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::SyncOp;
using trace::TensorOp;

class Tensors : public AnalysisTest {
protected:
  static constexpr std::uint64_t kStream = 0x8001, kTensor = kA + 4096, kBytes = 1024;

  void SetUp() override {
    expect_only({"use-after-free", "copy-out-of-bounds"});
    cuda_malloc(kA, kMiB);
  }
  void say(TensorOp op) {
    log().record({.api = "reportMemoryUsageToProfiler", .stack = {0x500}},
                 Made<trace::TensorFields>().address(kTensor).bytes(kBytes).op(op));
  }
  void sync(SyncOp op) {
    log().record({.api = "cuStreamBeginCapture_v2", .stack = {0x510}},
                 Made<trace::SyncFields>().stream(kStream).op(op));
  }
  void say_of(TensorOp op, std::uint64_t address) {
    log().record({.api = "reportMemoryUsageToProfiler", .stack = {0x500}},
                 Made<trace::TensorFields>().address(address).bytes(kBytes).op(op));
  }
  // scale(float*), or fields(Pair) with two words.
  void launch(const std::vector<std::uint64_t>& words, std::uint64_t from = 0x400) {
    constexpr std::uint64_t kScale = 0x900, kFields = 0x910;
    const std::uint64_t function = words.size() == 1 ? kScale : kFields;
    log().record({}, Made<trace::KernelFields>().function(function).parameter_count(1),
                 {trace::pack_halves({0, static_cast<std::uint32_t>(8 * words.size())})});
    log().name(function, words.size() == 1 ? "_Z5scalePf" : "_Z6fields4Pair");
    std::vector<std::uint64_t> all{function, 0, 1, 1};
    for (const std::uint64_t word : words) all.push_back(trace::argument_word(word, 0));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {from},
                  .order = trace.next_order(),
                  .flags = trace::kLaunchScanned},
                 all);
  }
  // range(float*, float*): a begin and an end.
  void launch_range(std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t kRange = 0x920;
    log().record({}, Made<trace::KernelFields>().function(kRange).parameter_count(2),
                 {trace::pack_halves({0, 8}), trace::pack_halves({8, 8})});
    log().name(kRange, "_Z5rangePfS_");
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {0x410},
                  .order = trace.next_order(),
                  .flags = trace::kLaunchScanned},
                 {kRange, 0, 1, 1, trace::argument_word(begin, 0), trace::argument_word(end, 1)});
  }
  void capture_a_tensor() {
    sync(SyncOp::kBeginCapture);
    say(TensorOp::kGivenOut);
    say(TensorOp::kTakenBack);
    sync(SyncOp::kEndCapture);
  }
  std::string kinds_of_run() {
    cuda_free(kA);
    run();
    return kinds();
  }
};

TEST_F(Tensors, ACopyToATensorThatWasTakenBackIsAMistake) {
  say(TensorOp::kGivenOut);
  cuda_memcpy(kTensor, kHost, kBytes);
  say(TensorOp::kTakenBack);
  cuda_memcpy(kTensor, kHost, kBytes);
  EXPECT_EQ(kinds_of_run(), "use-after-free");
}

TEST_F(Tensors, ACopyPastTheEndOfATensorIsAMistake) {
  say(TensorOp::kGivenOut);
  cuda_memcpy(kTensor, kHost, kBytes + 1);
  EXPECT_EQ(kinds_of_run(), "copy-out-of-bounds");
}

TEST_F(Tensors, ALaunchWithATensorThatWasTakenBackIsAWarning) {
  say(TensorOp::kGivenOut);
  launch({kTensor});
  say(TensorOp::kTakenBack);
  launch({kTensor + 16});
  EXPECT_EQ(kinds_of_run(), "use-after-free");
  const ReportedFinding& found = *find("use-after-free");
  EXPECT_EQ(found.severity, Severity::kWarning);
  EXPECT_EQ(found.count, 1u);
  EXPECT_NE(found.advice.find("PyTorch's cache gives the memory"), std::string::npos);
  EXPECT_EQ(labels(found), "launched here|allocated here");
}

TEST_F(Tensors, ALaunchWithAnAddressThatAnotherTensorHasIsNone) {
  say(TensorOp::kGivenOut);
  say(TensorOp::kTakenBack);
  say(TensorOp::kGivenOut);
  launch({kTensor});
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, FieldsOfAStructureMayBeLeftOver) {
  say(TensorOp::kGivenOut);
  say(TensorOp::kTakenBack);
  launch({kA, kTensor});
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, TheEndOfATensorThatTheKernelIsGivenIsNoOtherTensor) {
  say(TensorOp::kGivenOut);
  say_of(TensorOp::kGivenOut, kTensor - kBytes);
  say(TensorOp::kTakenBack);
  launch_range(kTensor - kBytes, kTensor);
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, TensorsLieSideBySide) {
  say(TensorOp::kGivenOut);
  say_of(TensorOp::kGivenOut, kTensor - kBytes);
  say(TensorOp::kTakenBack);
  launch({kTensor});
  EXPECT_EQ(kinds_of_run(), "use-after-free");
}

TEST_F(Tensors, AfterACaptureLaunchesAreNotCompared) {
  capture_a_tensor();
  launch({kTensor});
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, AGraphMakesItsResultsAgainWithoutTheAllocator) {
  capture_a_tensor();
  cuda_memcpy(kTensor, kHost, kBytes);
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, AResultOfAGraphMayBeLargerThanWhatTheAllocatorGaveOutThere) {
  capture_a_tensor();
  say(TensorOp::kGivenOut);
  cuda_memcpy(kTensor, kHost, kBytes + 1);
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(Tensors, WhatIsNotComparedForGraphsIsSaid) {
  capture_a_tensor();
  EXPECT_EQ(kinds_of_run(), "");
  EXPECT_TRUE(is_not_checked("copies to and from tensors", "CUDA graph"));
}

TEST_F(Tensors, WithoutGraphsAllIsCompared) {
  say(TensorOp::kGivenOut);
  EXPECT_EQ(kinds_of_run(), "");
  EXPECT_FALSE(is_not_checked("copies to and from tensors"));
}

TEST_F(Tensors, BehindCapturesTheBlockAroundATensorStillHasItsEnd) {
  capture_a_tensor();
  say(TensorOp::kGivenOut);
  cuda_memcpy(kTensor, kHost, kMiB);
  EXPECT_EQ(kinds_of_run(), "copy-out-of-bounds");
}

} // namespace
} // namespace gmt::test
