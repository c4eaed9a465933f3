// SPDX-License-Identifier: Apache-2.0
// Kinds of memory with lives of their own: graphs, pools, virtual memory, other processes and
// APIs; and what an error in one context means for the others.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

using trace::LifeOp;
using trace::ObjectClass;
using trace::SyncOp;

constexpr std::uint64_t kGraph = 0x99, kExec = 0x9a, kOther = 0x9b, kOtherExec = 0x9c, kStream = 7;

class MemoryKinds : public AnalysisTest {
protected:
  MemoryKinds() {
    expect_only({"api-error", "double-free", "invalid-free", "leak", "use-after-free"});
  }
  void sync(SyncOp op, std::uint64_t stream, std::uint64_t other = 0) {
    log().record({.api = "cuSomething"},
                 Made<trace::SyncFields>().stream(stream).other(other).op(op));
  }
  void life(ObjectClass object, LifeOp op, std::uint64_t handle, std::uint64_t extra = 0) {
    log().record({.api = "cuSomeLife", .stack = {0x400}},
                 Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra));
  }
  void instantiate(std::uint64_t exec, std::uint64_t graph) {
    life(ObjectClass::kGraphExec, LifeOp::kCreate, exec, graph);
  }
  void launch(std::uint64_t exec) { sync(SyncOp::kGraphLaunch, kStream, exec); }
  void alloc_node(std::uint64_t graph) {
    log().alloc({.api = "cuGraphAddMemAllocNode", .stack = {0x100}}, MemoryKind::kGraph, kA, kMiB,
                graph);
  }
  void free_node(std::uint64_t graph) {
    log().release({.api = "cuGraphAddMemFreeNode"}, FreeFunction::kGraphFreeNode, kA, 0, graph);
  }
  void free_on_stream(std::uint64_t address = kA) {
    log().release({.api = "cuMemFreeAsync"}, FreeFunction::kMemFreeAsync, address, 0, kStream);
  }
};

// The memory is there from a launch to a free, by whichever call, and not with its node.
TEST_F(MemoryKinds, GraphMemoryCountsByLaunches) {
  const auto sums = [this] {
    run();
    for (const MemoryTables::KindRow& kind : result.process.tables.memory_kinds) {
      if (kind.memory_kind == "graph memory")
        return std::to_string(kind.allocations) + " " + std::to_string(kind.frees) + " " +
               std::to_string(kind.live_bytes) + " " + std::to_string(kind.peak_bytes);
    }
    return std::string("none");
  };
  alloc_node(kGraph);
  instantiate(kExec, kGraph);
  EXPECT_EQ(sums(), "none");
  launch(kExec);
  EXPECT_EQ(sums(), "1 0 1048576 1048576");
  free_on_stream();
  EXPECT_EQ(sums(), "1 1 0 1048576");
  launch(kExec);
  launch(kExec); // frees by itself what the last one left
  EXPECT_EQ(sums(), "3 2 1048576 1048576");
  free_on_stream();
  free_node(kGraph);
  instantiate(kOtherExec, kGraph);
  for (int i = 0; i < 4; ++i) launch(kOtherExec);
  EXPECT_EQ(sums(), "7 7 0 1048576");
}

TEST_F(MemoryKinds, GraphMemoryIsAliveAfterALaunch) {
  alloc_node(kGraph);
  instantiate(kExec, kGraph);
  run();
  EXPECT_EQ(kinds(), "");
  launch(kExec);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(result.findings[0].message, "1.0 MiB of graph memory was never freed.");
  EXPECT_EQ(address_of(result.findings[0].stacks[0]), 0x100u);
  free_on_stream();
  run();
  EXPECT_EQ(kinds(), "");
  life(ObjectClass::kGraph, LifeOp::kDestroy, kGraph);
  launch(kExec); // and again, from the executable graph alone
  run();
  EXPECT_EQ(kinds(), "leak");
  life(ObjectClass::kGraphExec, LifeOp::kDestroy, kExec);
  log().release({.api = "cuMemFree_v2"}, FreeFunction::kMemFree, kA);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(MemoryKinds, ARefusedRelaunchNamesWhatIsNotFreed) {
  const auto refused = [this] {
    log().record(
      {.api = "cuGraphLaunch", .via = "cudaGraphLaunch", .result = 1, .stack = {0x500}},
      Made<trace::SyncFields>().stream(kStream).executable_graph(kExec).op(SyncOp::kGraphLaunch));
  };
  alloc_node(kGraph);
  instantiate(kExec, kGraph);
  launch(kExec);
  refused();
  free_on_stream();
  refused(); // of another reason
  run();
  ASSERT_EQ(kinds(), "api-error api-error");
  EXPECT_EQ(
    result.findings[0].message,
    "cudaGraphLaunch failed with cudaErrorInvalidValue (1): memory that the graph's last launch "
    "allocated has not been freed.");
  EXPECT_NE(result.findings[0].advice.find("cudaGraphInstantiateFlagAutoFreeOnLaunch"),
            std::string::npos);
  EXPECT_EQ(labels(result.findings[0]), "failed here|allocated here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x100u);
  EXPECT_EQ(result.findings[1].message, "cudaGraphLaunch failed with cudaErrorInvalidValue (1).");
}

TEST_F(MemoryKinds, GraphsThatFreeTheirMemory) {
  alloc_node(kGraph);
  free_node(kGraph);
  instantiate(kExec, kGraph);
  launch(kExec);
  launch(kExec);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(MemoryKinds, GraphsThatFreeMemoryOfOthers) {
  alloc_node(kGraph);
  free_node(kOther);
  instantiate(kExec, kGraph);
  instantiate(kOtherExec, kOther);
  launch(kExec);
  run();
  EXPECT_EQ(kinds(), "leak"); // a free node that never runs frees nothing
  launch(kOtherExec);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(MemoryKinds, LaunchesOfOtherGraphsAllocateNothing) {
  alloc_node(kGraph);
  instantiate(kOtherExec, kOther);
  launch(kOtherExec);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(MemoryKinds, CapturedAllocationsAndFrees) {
  sync(SyncOp::kBeginCapture, kStream);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kA, kMiB, kStream);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kB, 2 * kMiB, kStream);
  free_on_stream(kA); // becomes a node
  sync(SyncOp::kEndCapture, kStream, kGraph);
  instantiate(kExec, kGraph);
  launch(kExec);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(result.findings[0].address, kB);
  free_on_stream(kB);
  launch(kExec);
  free_on_stream(kB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(MemoryKinds, AFailedCaptureMakesNoGraph) {
  sync(SyncOp::kBeginCapture, kStream);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kA, kMiB, kStream);
  log().record({.api = "cuStreamEndCapture", .result = 901},
               Made<trace::SyncFields>().stream(kStream).op(SyncOp::kEndCapture));
  launch(kExec);
  log().alloc({.api = "cuMemAllocAsync"}, MemoryKind::kStreamOrdered, kB, kMiB, kStream); // runs
  run();
  ASSERT_EQ(find("leak") != nullptr, true);
  EXPECT_EQ(find("leak")->address, kB);
  EXPECT_EQ(find("leak")->count, 1u);
}

TEST_F(MemoryKinds, ABlockOutlivesItsPool) {
  life(ObjectClass::kPool, LifeOp::kCreate, 0x50);
  log().alloc({.api = "cuMemAllocFromPoolAsync", .stack = {0x100}}, MemoryKind::kStreamOrdered, kA,
              kMiB, kStream, {0, 0, 0, 0, 0, 0x50, 0});
  life(ObjectClass::kPool, LifeOp::kDestroy, 0x50);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(result.findings[0].message,
            "1.0 MiB of stream-ordered device memory was never freed, and its pool "
            "was destroyed in between.");
  EXPECT_EQ(labels(result.findings[0]), "allocated here|pool destroyed here");
  free_on_stream();
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(MemoryKinds, CallsOnADestroyedPool) {
  const auto allocate = [this] {
    log().alloc({.api = "cuMemAllocFromPoolAsync", .result = 1}, MemoryKind::kStreamOrdered, 0,
                kMiB, kStream, {0, 0, 0, 0, 0, 0x50, 0});
  };
  life(ObjectClass::kPool, LifeOp::kCreate, 0x50);
  allocate(); // of another reason
  life(ObjectClass::kPool, LifeOp::kDestroy, 0x50);
  allocate();
  log().record(
    {.api = "cuMemPoolDestroy", .result = 1},
    Made<trace::LifeFields>().handle(0x50).object(ObjectClass::kPool).op(LifeOp::kDestroy));
  run();
  ASSERT_EQ(kinds(), "api-error use-after-free double-free");
  EXPECT_EQ(labels(result.findings[0]), "failed here");
  EXPECT_EQ(labels(result.findings[1]), "called here|destroyed here|created here");
  EXPECT_EQ(result.findings[1].message,
            "cuMemAllocFromPoolAsync uses a memory pool that was already destroyed, made by "
            "cuSomeLife.");
  EXPECT_EQ(labels(result.findings[2]), "destroyed again here|first destroyed here|created here");
  EXPECT_EQ(address_of(result.findings[2].stacks[1]), 0x400u);
}

TEST_F(MemoryKinds, APoolThatStaysIsANote) {
  life(ObjectClass::kPool, LifeOp::kCreate, 0x50);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_EQ(result.findings[0].severity, Severity::kNote);
  EXPECT_EQ(result.findings[0].message, "A memory pool made by cuSomeLife was never destroyed.");
  EXPECT_EQ(labels(result.findings[0]), "created here");
  life(ObjectClass::kPrimaryContext, LifeOp::kReset, 0); // pools outlive contexts
  run();
  EXPECT_EQ(kinds(), "leak");
}

TEST_F(MemoryKinds, ExternalMemoryMustBeDestroyed) {
  life(ObjectClass::kExternalMemory, LifeOp::kCreate, 0x60);
  life(ObjectClass::kExternalSemaphore, LifeOp::kCreate, 0x61);
  run();
  ASSERT_EQ(kinds(), "leak leak");
  EXPECT_EQ(result.findings[0].severity, Severity::kError);
  EXPECT_EQ(result.findings[0].message,
            "External memory imported by cuSomeLife was never destroyed.");
  EXPECT_EQ(result.findings[1].severity, Severity::kNote);
  life(ObjectClass::kExternalMemory, LifeOp::kDestroy, 0x60);
  life(ObjectClass::kExternalSemaphore, LifeOp::kDestroy, 0x61);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(MemoryKinds, OpenedMoreOftenThanClosed) {
  for (int i = 0; i < 3; ++i)
    log().alloc({.api = "cuIpcOpenMemHandle_v2"}, MemoryKind::kIpc, kA, 0);
  log().release({.api = "cuIpcCloseMemHandle"}, FreeFunction::kIpcClose, kA);
  run();
  ASSERT_EQ(kinds(), "leak");
  EXPECT_NE(
    result.findings[0].message.find("was not closed as often as it was opened: 2 times too few."),
    std::string::npos)
    << result.findings[0].message;
  for (int i = 0; i < 2; ++i) {
    log().release({.api = "cuIpcCloseMemHandle"}, FreeFunction::kIpcClose, kA);
  }
  log().release({.api = "cuIpcCloseMemHandle", .result = 1}, FreeFunction::kIpcClose, kA);
  run();
  EXPECT_EQ(kinds(), "double-free");
}

TEST_F(MemoryKinds, HalvesOfVirtualMemory) {
  const auto map = [this] {
    log().alloc({.api = "cuMemCreate"}, MemoryKind::kVmmHandle, 0x70, 2 * kMiB);
    log().alloc({.api = "cuMemAddressReserve"}, MemoryKind::kVmmReservation, kA, 2 * kMiB);
    log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kA, 2 * kMiB, 0x70);
  };
  map();
  // Legal while it is mapped
  log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 0x70);
  run();
  EXPECT_EQ(kinds(), "leak leak");
  log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kA, 2 * kMiB);
  log().release({.api = "cuMemAddressFree"}, FreeFunction::kAddressFree, kA, 2 * kMiB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.peak_bytes, 2 * kMiB);
}

TEST_F(MemoryKinds, ReleasedPhysicalMemoryCountsWhileItIsMapped) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    log().alloc({.api = "cuMemCreate"}, MemoryKind::kVmmHandle, 0x70, 2 * kMiB);
    log().alloc({.api = "cuMemMap"}, MemoryKind::kVmmMapping, kA + i * 2 * kMiB, 2 * kMiB, 0x70);
    log().release({.api = "cuMemRelease"}, FreeFunction::kMemRelease, 0x70);
  }
  log().release({.api = "cuMemUnmap"}, FreeFunction::kMemUnmap, kA, 8 * kMiB);
  cuda_malloc(kB, kMiB);
  cuda_free(kB);
  run();
  EXPECT_EQ(kinds(), "");
  EXPECT_EQ(result.process.totals.peak_bytes, 8 * kMiB);
}

TEST_F(MemoryKinds, AnErrorKillsItsContextAlone) {
  log().context(1, 0xc1, 0, true);
  log().context(2, 0xc2, 1, true);
  cuda_malloc(kA, kMiB);
  log().alloc({.api = "cuMemAlloc_v2", .context = 2}, MemoryKind::kDevice, kB, kMiB);
  log().record({.api = "cuCtxSynchronize", .result = 700},
               Made<trace::SyncFields>().op(SyncOp::kContextSynchronize));
  log().release({.api = "cuMemFree_v2", .result = 700}, FreeFunction::kMemFree, kA);
  log().release({.api = "cuMemFree_v2", .result = 1, .context = 2}, FreeFunction::kMemFree,
                kB + 16);
  run();
  EXPECT_NE(find("invalid-free"), nullptr);
  ASSERT_NE(find("leak"), nullptr);
  EXPECT_EQ(find("leak")->address, kB);
  EXPECT_TRUE(is_not_checked("leak", "1.0 MiB in 1 block"));
}

} // namespace
} // namespace gmt::test
