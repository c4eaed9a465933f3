// SPDX-License-Identifier: Apache-2.0
// Streams that the program made: their device, and whether they wait for the legacy stream.

#include <gtest/gtest.h>

#include "analyzer/cuda_state/cuda_state.h"
#include "tests/unit/analyzer/support/event_maker.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class Streams : public testing::Test {
protected:
  void life(std::uint64_t handle, LifeOp op, std::uint64_t flags = 0, std::uint16_t context = 1) {
    cuda.on_life(make(
      Made<trace::LifeFields>().handle(handle).object(ObjectClass::kStream).op(op).flags(flags),
      {.context = context}));
  }
  EventMaker make;
  CudaState cuda;
};

TEST_F(Streams, KnowTheirContextAndDevice) {
  cuda.contexts.describe(make(Made<trace::ContextFields>().handle(0xc2).device(3), {.context = 2}));
  life(0x51, LifeOp::kCreate, 0, 2);
  const Stream* stream = cuda.streams.find(0x51);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->context, 2);
  EXPECT_EQ(stream->device, 3);
  EXPECT_TRUE(stream->is_blocking);
  EXPECT_EQ(cuda.streams.find(0x52), nullptr);
}

TEST_F(Streams, NonBlockingOnes) {
  life(0x51, LifeOp::kCreate, 1);
  EXPECT_FALSE(cuda.streams.find(0x51)->is_blocking);
  EXPECT_EQ(cuda.streams.find(0x51)->device, -1); // its context was not described
}

TEST_F(Streams, AHandleThatIsGivenOutAgainIsAnotherStream) {
  life(0x51, LifeOp::kCreate, 1);
  life(0x51, LifeOp::kDestroy);
  EXPECT_EQ(cuda.streams.find(0x51), nullptr);
  life(0x51, LifeOp::kCreate, 0);
  EXPECT_TRUE(cuda.streams.find(0x51)->is_blocking);
}

} // namespace
} // namespace gmt::test
