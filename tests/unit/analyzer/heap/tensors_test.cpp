// SPDX-License-Identifier: Apache-2.0
// Copies from and to tensors of PyTorch: what is past their end or was taken back is a mistake,
// unless the memory may be that of a graph, which uses it again without asking.

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
