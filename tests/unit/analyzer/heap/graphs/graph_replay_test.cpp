// SPDX-License-Identifier: Apache-2.0
// Calls about graphs, applied to blocks: memory of nodes, captured work, and pointers into what has
// been freed.

#include "analyzer/heap/graphs/graph_replay.h"

#include "tests/unit/analyzer/support/store_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::MemoryKind;
using trace::ObjectClass;
using trace::SyncOp;

constexpr std::uint64_t kStream = 0x5500, kGraph = 0x70, kExec = 0x80, kNode = 0x90;

class GraphCalls : public StoreTest {
protected:
  void kernel(std::uint64_t address) {
    graphs.on_kernel(make(Made<trace::GraphKernelFields>().function(0xf).graph(kGraph).node(kNode),
                          {}, {trace::argument_word(address, 0)}),
                     accesses, verdicts);
  }
  void instantiate() {
    graphs.on_life(life(kExec, ObjectClass::kGraphExec, LifeOp::kCreate, kGraph));
  }
  void launch(std::uint64_t stream = 0) {
    verdicts.clear();
    graphs.on_launch(sync(SyncOp::kGraphLaunch, stream, kExec), verdicts);
  }
  Event sync(SyncOp op, std::uint64_t stream, std::uint64_t other) {
    const Event e = make(Made<trace::SyncFields>().stream(stream).other(other).op(op));
    cuda.captures.on_sync(e);
    return e;
  }
  void allocate(std::uint64_t address) { // by a node
    const Id id = live(address, kSize, MemoryKind::kGraph);
    graphs.on_allocation(make(Made<trace::AllocFields>()), store[id], kGraph);
  }

  UserPools user_pools{store};
  Arrays arrays{store, cuda.contexts};
  const PointerReadings readings{store, user_pools};
  const HostMemory host_memory{};
  GraphReplay graphs{store, cuda, arrays, readings, host_memory};
  AccessList accesses{store};
};

TEST_F(GraphCalls, MemoryOfANodeExistsFromALaunchToItsFree) {
  allocate(kBase);
  instantiate();
  EXPECT_EQ(graphs.unfreed_of(kExec), nullptr);
  launch();
  ASSERT_NE(graphs.unfreed_of(kExec), nullptr);
  EXPECT_EQ(graphs.unfreed_of(kExec)->address, kBase);
  free_block(kBase);
  EXPECT_EQ(graphs.unfreed_of(kExec), nullptr);
  launch(); // it comes back
  EXPECT_NE(graphs.unfreed_of(kExec), nullptr);
}

TEST_F(GraphCalls, AFreeNodeFreesAtEachLaunch) {
  allocate(kBase);
  graphs.on_free_node(make(Made<trace::FreeFields>().address(kBase).graph(kGraph)).free());
  instantiate();
  launch();
  EXPECT_EQ(graphs.unfreed_of(kExec), nullptr);
  EXPECT_NE(store.find_exact(Space::kAddress, kBase), kNone); // the block stays known
}

// The node allocates nothing; each launch does, and frees what the one before left.
TEST_F(GraphCalls, MemoryCountsFromALaunchToItsFree) {
  const auto counted = [&] {
    for (const MemoryUse::Device& device : store.use().devices()) {
      const auto& sums = device.memory_kinds[static_cast<std::size_t>(MemoryKind::kGraph)];
      if (sums.allocations != 0) return sums;
    }
    return MemoryUse::KindSums{};
  };
  allocate(kBase);
  instantiate();
  EXPECT_EQ(counted().allocations, 0u);
  EXPECT_EQ(store.use().live_bytes(), 0u);
  launch();
  EXPECT_EQ(counted().allocations, 1u);
  EXPECT_EQ(store.use().live_bytes(), kSize);
  launch();
  EXPECT_EQ(counted().allocations, 2u);
  EXPECT_EQ(counted().frees, 1u);
  EXPECT_EQ(store.use().live_bytes(), kSize);
  free_block(kBase);
  EXPECT_EQ(counted().frees, 2u);
  EXPECT_EQ(store.use().live_bytes(), 0u);
  graphs.on_free_node(make(Made<trace::FreeFields>().address(kBase).graph(kGraph)).free());
  instantiate();
  launch();
  EXPECT_EQ(counted().allocations, 3u);
  EXPECT_EQ(counted().frees, 3u);
  EXPECT_EQ(counted().peak_bytes, kSize);
}

TEST_F(GraphCalls, AKernelsMemoryIsCheckedWhenTheGraphIsLaunched) {
  live(kBase, kSize);
  kernel(kBase + 16);
  ASSERT_EQ(accesses.all().size(), 1u);
  instantiate();
  launch();
  EXPECT_TRUE(verdicts.empty());
  free_block(kBase);
  launch();
  ASSERT_EQ(verdicts.all().size(), 1u);
  EXPECT_EQ(verdicts.all()[0].kind, Verdict::Kind::kUseAfterFree);
  EXPECT_EQ(verdicts.all()[0].offset, 16u);
  EXPECT_EQ(verdicts.all()[0].parameter, 0);
  EXPECT_NE(verdicts.all()[0].work, nullptr);
  launch(); // once is enough
  EXPECT_TRUE(verdicts.empty());
}

TEST_F(GraphCalls, NewMemoryAtTheOldAddressIsNoMistake) {
  live(kBase, kSize);
  kernel(kBase);
  instantiate();
  free_block(kBase);
  live(kBase, kSize);
  launch();
  EXPECT_TRUE(verdicts.empty());
  free_block(kBase);
  launch();
  EXPECT_FALSE(verdicts.empty());
}

TEST_F(GraphCalls, ALaunchThatIsItselfCapturedIsNotChecked) {
  live(kBase, kSize);
  kernel(kBase);
  instantiate();
  free_block(kBase);
  sync(SyncOp::kBeginCapture, kStream, 0);
  launch(kStream);
  EXPECT_TRUE(verdicts.empty());
}

TEST_F(GraphCalls, CapturedWorkIsTheGraphs) {
  sync(SyncOp::kBeginCapture, kStream, 0);
  const Id id = live(kBase, kSize);
  const Event set = make(Made<trace::SetFields>().destination(kBase).bytes(8).stream(kStream));
  accesses.add(set, id, Access::Kind::kWrite, kBase, 8);
  graphs.on_captured_use(set, GraphWork::Kind::kSet, accesses.all());
  const Event end = sync(SyncOp::kEndCapture, kStream, kGraph);
  graphs.on_end_of_capture(end, *CaptureTable::ended_by(end));
  instantiate();
  free_block(kBase);
  launch();
  ASSERT_EQ(verdicts.all().size(), 1u);
  EXPECT_EQ(verdicts.all()[0].side, Side::kDestination);
  EXPECT_TRUE(verdicts.all()[0].work->captured);
}

TEST_F(GraphCalls, OnlyAFreeOnACapturingStreamIsCaptured) {
  sync(SyncOp::kBeginCapture, kStream, 0);
  EXPECT_TRUE(
    graphs.on_captured_free(make(Made<trace::FreeFields>().address(kBase).stream(kStream))));
  EXPECT_FALSE(graphs.on_captured_free(make(Made<trace::FreeFields>().address(kBase).stream(0))));
}

} // namespace
} // namespace gmt::test
