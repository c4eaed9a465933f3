// SPDX-License-Identifier: Apache-2.0
// Which devices reach each other's memory.

#include "analyzer/cuda_state/peer_access.h"

#include <gtest/gtest.h>

#include "tests/unit/analyzer/support/event_maker.h"
#include "trace/cuda_results.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;

class Peers : public testing::Test {
protected:
  void describe(std::uint16_t id, std::uint64_t handle, std::uint64_t device) {
    peers.describe(
      make(Made<trace::ContextFields>().handle(handle).device(device), {.context = id}));
  }
  void access(LifeOp op, std::uint64_t own, std::uint64_t peer, std::uint16_t result = 0) {
    peers.on_life(make(
      Made<trace::LifeFields>().handle(peer).object(ObjectClass::kPeerAccess).op(op).context(own),
      {.result = result}));
  }
  EventMaker make;
  PeerAccess peers;
};

TEST_F(Peers, AreSeveralFromTheSecondDeviceOn) {
  describe(1, 0xc1, 0);
  describe(2, 0xc2, 0);
  EXPECT_FALSE(peers.has_several_devices());
  describe(3, 0xc3, 1);
  EXPECT_TRUE(peers.has_several_devices());
}

TEST_F(Peers, ReachWhatTheyWereGiven) {
  describe(1, 0xc1, 0);
  describe(2, 0xc2, 1);
  access(LifeOp::kCreate, 0xc1, 0xc2);
  EXPECT_TRUE(peers.is_open(0, 1));
  EXPECT_FALSE(peers.is_open(1, 0));
  access(LifeOp::kDestroy, 0xc1, 0xc2);
  EXPECT_FALSE(peers.is_open(0, 1));
}

TEST_F(Peers, AlreadyEnabledIsEnabledAndOtherFailuresAreNot) {
  describe(1, 0xc1, 0);
  describe(2, 0xc2, 1);
  access(LifeOp::kCreate, 0xc1, 0xc2, cuda::CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(peers.is_open(0, 1));
  access(LifeOp::kCreate, 0xc1, 0xc2, cuda::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_TRUE(peers.is_open(0, 1));
}

TEST_F(Peers, ContextsThatWereMadeOrRetainedAreKnownToo) {
  peers.on_life(make(Made<trace::LifeFields>()
                       .handle(0xc1)
                       .object(ObjectClass::kContext)
                       .op(LifeOp::kCreate)
                       .on_device(0)));
  peers.on_life(make(Made<trace::LifeFields>()
                       .device(1)
                       .object(ObjectClass::kPrimaryContext)
                       .op(LifeOp::kRetain)
                       .context(0xc2)));
  access(LifeOp::kCreate, 0xc1, 0xc2);
  EXPECT_TRUE(peers.is_open(0, 1));
  EXPECT_FALSE(peers.is_unknown());
  access(LifeOp::kCreate, 0xc1, 0xc9);
  EXPECT_TRUE(peers.is_unknown());
}

} // namespace
} // namespace gmt::test
