// SPDX-License-Identifier: Apache-2.0
// Order of streams by the less common calls: events of contexts and graphs, host functions of
// graphs, elapsed times; and calls whose order is not known.

#include <functional>

#include "tests/unit/analyzer/support/stream_fixture.h"

namespace gmt::test {
namespace {

using trace::GraphOp;

constexpr std::uint64_t kContext = 0xc1, kGraph = 0x9100, kExec = 0x9e00, kNode = 0x9200,
                        kOther = 0xe1;

class StreamForms : public StreamOrders {
protected:
  void SetUp() override {
    StreamOrders::SetUp();
    event(kOther);
  }
  void event(std::uint64_t handle) {
    log().record({.api = "cuEventCreate"}, Made<trace::LifeFields>()
                                             .handle(handle)
                                             .object(ObjectClass::kEvent)
                                             .op(trace::LifeOp::kCreate)
                                             .flags(2));
  }
  void external(SyncOp op, std::uint64_t s, std::uint64_t event) {
    log().record(
      {.api = "cuEventRecordWithFlags"},
      Made<trace::SyncFields>().stream(s).other(event).op(op).flags(trace::kSyncExternal));
  }
  void graph_life(ObjectClass object, std::uint64_t handle, std::uint64_t from = 0) {
    log().record({.api = "cuGraphCreate"}, Made<trace::LifeFields>()
                                             .handle(handle)
                                             .object(object)
                                             .op(trace::LifeOp::kCreate)
                                             .extra(from));
  }
  void node(GraphOp op, std::uint64_t graph, std::uint64_t event = 0) {
    log().record({.api = "cuGraphAddNode"},
                 Made<trace::GraphChangeFields>().graph(graph).op(op).node(kNode).other(event));
  }
  void capture(std::uint64_t s, const std::function<void()>& work = {}) {
    sync(SyncOp::kBeginCapture, s);
    if (work) work();
    sync(SyncOp::kEndCapture, s, kGraph);
  }
  void launch_graph(std::uint64_t s) {
    graph_life(ObjectClass::kGraphExec, kExec, kGraph);
    sync(SyncOp::kGraphLaunch, s, kExec);
  }
  void elapsed_time(std::uint64_t first, std::uint64_t second, std::uint16_t code = 0) {
    log().record({.api = "cuEventElapsedTime_v2", .via = "cudaEventElapsedTime", .result = code},
                 Made<trace::SyncFields>().other(second).op(SyncOp::kElapsedTime).flags(first));
  }
  void note(const std::string& api) { log().record(Kind::kNote, {.api = api}, {1, 2, 3, 4}); }
};

TEST_F(StreamForms, EventOfAContext) {
  malloc_on(kS);
  sync(SyncOp::kContextRecord, kContext, kEvent);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, ContextThatWaitsForAnEvent) {
  malloc_on(kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  sync(SyncOp::kContextWait, kContext, kEvent);
  set_on(kT);
  stream(0x7700, kNonBlocking); // and streams that are made later
  set_on(0x7700);
  free_all();
  malloc_on(kS); // what comes behind the event is not waited for
  set_on(kT);
  free_all();
  run();
  ASSERT_EQ(kinds(), "stream-order");
  EXPECT_EQ(result.findings[0].count, 1u);
}

TEST_F(StreamForms, ElapsedTimeThatIsKnown) {
  malloc_on(kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  set_on(kS);
  sync(SyncOp::kEventRecord, kS, kOther);
  elapsed_time(kEvent, kOther);
  cuda_free(kA);
  malloc_on(kS, kB);
  set_on(kS, kB);
  sync(SyncOp::kEventRecord, kS, kOther);
  elapsed_time(kOther, kEvent); // in the other order
  cuda_free(kB);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, ElapsedTimeThatIsNotKnownYet) {
  malloc_on(kS);
  set_on(kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  elapsed_time(kEvent, kEvent, 600); // not ready
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

TEST_F(StreamForms, EventThatAGraphRecords) {
  graph_life(ObjectClass::kGraph, kGraph);
  node(GraphOp::kEventRecord, kGraph, kEvent);
  malloc_on(kS);
  set_on(kS);
  launch_graph(kS);
  sync(SyncOp::kStreamWaitEvent, kT, kEvent);
  set_on(kT);
  sync(SyncOp::kEventSynchronize, 0, kEvent);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, EventThatANodeOfAnExecutableGraphIsChangedTo) {
  malloc_on(kS);
  sync(SyncOp::kEventRecord, kS, kOther);
  node(GraphOp::kEventRecord, kExec, kOther);
  sync(SyncOp::kGraphLaunch, kS, kExec);
  set_on(kS);
  sync(SyncOp::kGraphLaunch, kS, kExec);
  sync(SyncOp::kEventQuery, 0, kOther);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, WaitNodeAddedToACapturedGraph) {
  malloc_on(kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  capture(kT);
  node(GraphOp::kEventWait, kGraph, kEvent);
  launch_graph(kT);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, CapturedGraphThatWaitsForNothing) {
  malloc_on(kS);
  capture(kT);
  launch_graph(kT);
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "stream-order");
}

// Captured before there was any stream-ordered memory.
TEST_F(StreamForms, EventsThatACaptureLeavesToTheGraph) {
  capture(kT, [&] {
    external(SyncOp::kStreamWaitEvent, kT, kEvent);
    external(SyncOp::kEventRecord, kT, kOther);
  });
  malloc_on(kS);
  sync(SyncOp::kEventRecord, kS, kEvent);
  launch_graph(kT);
  set_on(kT);
  sync(SyncOp::kGraphLaunch, kT, kExec);
  sync(SyncOp::kEventSynchronize, 0, kOther);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, HostFunctionsOfGraphs) {
  capture(kT, [&] { sync(SyncOp::kHostFunction, kT); });
  malloc_on(kT);
  set_on(kT);
  launch_graph(kT);
  cuda_free(kA); // the function may have signalled this thread
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, HostNodesMadeByHand) {
  graph_life(ObjectClass::kGraph, kGraph);
  node(GraphOp::kHost, kGraph);
  malloc_on(kT);
  set_on(kT);
  launch_graph(kT);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, SignalsOutside) {
  malloc_on(kS);
  set_on(kS);
  sync(SyncOp::kExternalSignal, kS);
  cuda_free(kA);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StreamForms, UnknownCallsAreSaidInsteadOfAnError) {
  malloc_on(kS);
  note("cuGraphicsMapResources");
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked(
    "stream-order", "cuGraphicsMapResources was called, and how it orders work is not known"));
}

TEST_F(StreamForms, UnknownCallsBeforeTheAllocationOrderNothingBehindIt) {
  malloc_on(kT, kB);
  note("cuGraphicsMapResources");
  note("cuSomethingOfALaterVersion");
  malloc_on(kS);
  note("cuMemHostGetDevicePointer_v2"); // orders nothing
  set_on(kT);
  free_all();
  free_on(kS, kB);
  run();
  EXPECT_EQ(kinds(), "stream-order");
  EXPECT_FALSE(is_not_checked("stream-order"));
}

TEST_F(StreamForms, CallsOfALaterVersion) {
  malloc_on(kS);
  note("cuSomethingOfALaterVersion");
  set_on(kT);
  free_all();
  sync(static_cast<SyncOp>(99), kS);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("stream-order", "cuSomethingOfALaterVersion"));
}

TEST_F(StreamForms, CallsThatMayWaitForTheContext) {
  malloc_on(kS);
  note("cuCtxSetLimit");
  set_on(kT);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_FALSE(is_not_checked("stream-order"));
}

// Work that is no use of known memory orders its stream all the same.
TEST_F(StreamForms, WorkOnTheDefaultStreamThatIsNotChecked) {
  stream(0xb1, 0);
  stream(0xb2, 0);
  malloc_on(0xb1);
  log().record(
    {.api = "cuStreamAttachMemAsync"},
    Made<trace::UseFields>().address(kB).bytes(4096).use(UseClass::kAttach).stream(kDefault));
  set_on(0xb2);
  free_all();
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
