// SPDX-License-Identifier: Apache-2.0
// A tensor's memory that PyTorch's allocator gives out again while another stream may use it.

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

using trace::TensorOp;

class TensorRaces : public StreamOrders {
protected:
  static constexpr std::uint64_t kTensor = kA + 8192;

  void SetUp() override {
    StreamOrders::SetUp();
    expect_only({"stream-race"});
    cuda_malloc(kA, kMiB);
  }
  void say(TensorOp op, std::uint64_t stream = kDefault) {
    log().record({.api = "reportMemoryUsageToProfiler", .stack = {0x500}},
                 Made<trace::TensorFields>().address(kTensor).bytes(4096).op(op).stream(stream));
  }
  void lend_and_drop(std::uint64_t stream = kDefault) {
    say(TensorOp::kGivenOut, stream);
    set_on(kS, kTensor);
    say(TensorOp::kTakenBack);
  }
  std::string kinds_of_run() {
    run();
    return kinds();
  }
};

TEST_F(TensorRaces, MemoryIsGivenOutAgainUnderTheUse) {
  lend_and_drop();
  say(TensorOp::kGivenOut);
  set_on(kDefault, kTensor);
  ASSERT_EQ(kinds_of_run(), "stream-race");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_NE(result.findings[0].message.find("dropped, and given out again"), std::string::npos);
}

TEST_F(TensorRaces, AnEventOrdersTheUses) {
  lend_and_drop();
  order(kS, kDefault);
  say(TensorOp::kGivenOut);
  set_on(kDefault, kTensor);
  EXPECT_EQ(kinds_of_run(), "");
}

// As a batch that is copied on a stream of its own and used on the default one.
TEST_F(TensorRaces, ATensorOfAnotherStreamIsUsedOnTheDefaultOne) {
  for (int i = 0; i < 2; ++i) {
    say(TensorOp::kGivenOut, kS);
    set_on(kS, kTensor);
    order(kS, kDefault);
    set_on(kDefault, kTensor);
    say(TensorOp::kTakenBack);
  }
  EXPECT_EQ(kinds_of_run(), "stream-race");
}

TEST_F(TensorRaces, ATensorIsUsedOnItsOwnStreamAlone) {
  for (int i = 0; i < 2; ++i) {
    say(TensorOp::kGivenOut, kS);
    set_on(kS, kTensor);
    say(TensorOp::kTakenBack);
  }
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(TensorRaces, WhatIsNotKnownIsNotFollowed) {
  constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  lend_and_drop(kUnknown);
  say(TensorOp::kGivenOut, kUnknown);
  set_on(kDefault, kTensor);
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(TensorRaces, TensorsOfCapturesAreNotFollowed) {
  log().record({.api = "cuStreamBeginCapture_v2", .stack = {0x510}},
               Made<trace::SyncFields>().stream(kT).op(trace::SyncOp::kBeginCapture));
  say(TensorOp::kGivenOut);
  log().record({.api = "cuStreamEndCapture", .stack = {0x510}},
               Made<trace::SyncFields>().stream(kT).op(trace::SyncOp::kEndCapture));
  set_on(kS, kTensor);
  say(TensorOp::kTakenBack);
  say(TensorOp::kGivenOut);
  set_on(kDefault, kTensor);
  EXPECT_EQ(kinds_of_run(), "");
}

TEST_F(TensorRaces, ABlockOfADamagedRecordEndsBehindAllAddresses) {
  lend_and_drop();
  cuda_malloc(kB, std::uint64_t{1} - kB);
  cuda_free(kB);
  EXPECT_EQ(kinds_of_run(), "");
}

} // namespace
} // namespace gmt::test
