// SPDX-License-Identifier: Apache-2.0
// peer-pointer: kernels that are given the memory of a device which theirs has no access to.

#include <cstring>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kFunction = 0x900, kStream = 0x77000;

// Context 1 is device 0's, context 2 device 1's; kA lies on device 0, kB on device 1.
class PeerPointers : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"peer-pointer"});
    trace.format = "1.4";
    log().context(1, 0xc0, 0, true);
    log().context(2, 0xc1, 1, true);
    kernel("_Z1kPf4Rows"); // k(float*, Rows)
    on_device(kA, 1);
    on_device(kB, 2);
  }
  // Parameters of 8 and of 24 bytes.
  void kernel(const std::string& name) {
    log().record({}, Made<trace::KernelFields>().function(kFunction).parameter_count(2),
                 {trace::pack_halves({0, 8}), trace::pack_halves({8, 24})});
    log().name(kFunction, name);
  }
  void on_device(std::uint64_t address, std::uint16_t context,
                 MemoryKind memory_kind = MemoryKind::kDevice) {
    log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {0x100}, .context = context},
                memory_kind, address, kMiB);
  }
  // Returns the order of its record.
  std::uint64_t launch(std::uint64_t first, std::uint64_t second = 0, std::uint16_t context = 1,
                       std::uint64_t stream = 0) {
    const std::uint64_t order = trace.next_order();
    log().record(
      {.api = "cuLaunchKernel",
       .via = "cudaLaunchKernel",
       .stack = {0x400},
       .context = context,
       .order = order,
       .flags = trace::kLaunchScanned},
      Made<trace::LaunchFields>().function(kFunction).stream(stream).grid({1, 1, 1}).block(
        {1, 1, 1}),
      {trace::argument_word(first, 0), trace::argument_word(second, 1)});
    return order;
  }
  void did_not_run(std::uint64_t launch) {
    log().record({}, Made<trace::ExecutionFields>().op(trace::ExecutionOp::kNotRun).call(launch));
  }
  void synchronize(std::uint16_t code = 0, std::uint16_t context = 1) {
    log().record({.api = "cuCtxSynchronize",
                  .via = "cudaDeviceSynchronize",
                  .result = code,
                  .stack = {0x600},
                  .context = context},
                 Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  }
  void life(std::uint64_t handle, trace::ObjectClass object, trace::LifeOp op,
            std::uint64_t extra = 0, std::uint16_t code = 0, std::uint16_t context = 1) {
    log().record({.api = "cuCtxEnablePeerAccess", .result = code, .context = context},
                 Made<trace::LifeFields>().handle(handle).object(object).op(op).extra(extra));
  }
  void peer_access(trace::LifeOp op, std::uint64_t own = 0xc0, std::uint64_t peer = 0xc1,
                   std::uint16_t code = 0) {
    life(peer, trace::ObjectClass::kPeerAccess, op, own, code);
  }
  void synchronize_stream(std::uint64_t stream) {
    log().record({.api = "cuStreamSynchronize"},
                 Made<trace::SyncFields>().stream(stream).op(trace::SyncOp::kStreamSynchronize));
  }
  // The finding's sentence after a death of context 1, empty if there is none.
  std::string after_death() {
    synchronize(700);
    run();
    return find("peer-pointer") != nullptr ? find("peer-pointer")->message : "";
  }
};

TEST_F(PeerPointers, ReportedWhenTheContextDies) {
  launch(kB + 16);
  launch(kA);
  EXPECT_EQ(
    after_death(),
    "The launch of k(float*, Rows) on device 0 passes in parameter 1 the pointer 0x7f32b0000010 into 1.0 MiB of device "
    "memory allocated by cudaMalloc on device 1, to which device 0 has no access; behind it cudaDeviceSynchronize "
    "reported an illegal address.");
  const ReportedFinding& f = *find("peer-pointer");
  EXPECT_EQ(f.severity, Severity::kWarning);
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(
    f.advice,
    "If cudaDeviceCanAccessPeer says that it can, call cudaDeviceEnablePeerAccess for device 1 with device 0 "
    "current, before the launch; else copy the data.");
  EXPECT_EQ(labels(f), "launched here|allocated here|reported here");
}

TEST_F(PeerPointers, FieldOfAStructureToo) {
  launch(kA, kB);
  EXPECT_NE(after_death().find("in parameter 2"), std::string::npos);
}

TEST_F(PeerPointers, AccessThatWasGivenNeedNotBeUsed) {
  launch(kB);
  launch(kA, kB);
  run();
  EXPECT_EQ(find("peer-pointer"), nullptr);
  synchronize();
  EXPECT_EQ(after_death(), ""); // of something else
}

TEST_F(PeerPointers, AStreamThatWasWaitedFor) {
  life(kStream, trace::ObjectClass::kStream, trace::LifeOp::kCreate);
  launch(kA, kB, 1, kStream);
  launch(kB);
  synchronize_stream(kStream);
  EXPECT_NE(after_death().find("in parameter 1"), std::string::npos);
  EXPECT_EQ(find("peer-pointer")->count, 1u);
}

TEST_F(PeerPointers, DeathOfAnotherContext) {
  launch(kB);
  synchronize(700, 2);
  run();
  EXPECT_EQ(find("peer-pointer"), nullptr);
}

TEST_F(PeerPointers, OfLaunchesThatTheSimulatedDeviceDidNotRunDeclaredPointersCount) {
  trace.info.push_back("device=simulated");
  did_not_run(launch(kA, kB));
  launch(kB); // it ran, and would have met a fault
  run();
  EXPECT_EQ(find("peer-pointer"), nullptr);
  did_not_run(launch(kB));
  did_not_run(launch(kB + 64));
  run();
  ASSERT_NE(find("peer-pointer"), nullptr);
  EXPECT_EQ(find("peer-pointer")->count, 2u);
  EXPECT_EQ(labels(*find("peer-pointer")), "launched here|allocated here");
}

TEST_F(PeerPointers, EndOfTheBlockBeforeMayBeMeant) {
  trace.info.push_back("device=simulated");
  kernel("_Z1kPfS_");      // k(float*, float*)
  on_device(kA + kMiB, 2); // beside device 0's
  did_not_run(launch(kA, kA + kMiB));
  run();
  ASSERT_NE(find("peer-pointer"), nullptr);
  EXPECT_NE(find("peer-pointer")
              ->message.find("; unless it is only the end of 1.0 MiB of device memory allocated by "
                             "cudaMalloc, into which another parameter points."),
            std::string::npos);
}

TEST_F(PeerPointers, AnotherLaunchShowsThatItIsAnEnd) {
  trace.info.push_back("device=simulated");
  kernel("_Z1kPfS_"); // k(float*, float*)
  on_device(kC, 1);
  launch(kC, kC + kMiB); // nothing is there
  on_device(kA + kMiB, 2);
  did_not_run(launch(kA, kA + kMiB));
  run();
  EXPECT_EQ(find("peer-pointer"), nullptr);
}

TEST_F(PeerPointers, AccessInThisDirectionAlone) {
  peer_access(trace::LifeOp::kCreate, 0xc1, 0xc0);
  launch(kB);
  EXPECT_NE(after_death(), "");
}

TEST_F(PeerPointers, WithAccess) {
  peer_access(trace::LifeOp::kCreate);
  launch(kB);
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, AccessThatWasThereAlready) {
  peer_access(trace::LifeOp::kCreate, 0xc0, 0xc1, 704);
  launch(kB);
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, RefusedAccessIsNone) {
  peer_access(trace::LifeOp::kCreate, 0xc0, 0xc1, 217);
  launch(kB);
  EXPECT_NE(after_death(), "");
}

TEST_F(PeerPointers, AccessTakenAway) {
  peer_access(trace::LifeOp::kCreate);
  peer_access(trace::LifeOp::kDestroy);
  launch(kB);
  EXPECT_NE(after_death(), "");
}

TEST_F(PeerPointers, AccessOfUnknownContextsMayBeTheirs) {
  peer_access(trace::LifeOp::kCreate, 0xdead);
  launch(kB);
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, MemoryThatAllDevicesReachOrThatHasAListOfItsOwn) {
  std::uint64_t at = kC;
  for (const MemoryKind memory_kind :
       {MemoryKind::kManaged, MemoryKind::kPinned, MemoryKind::kRegistered,
        MemoryKind::kStreamOrdered, MemoryKind::kVmmMapping, MemoryKind::kIpc}) {
    on_device(at, 2, memory_kind);
    launch(at);
    at += 16 * kMiB;
  }
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, TheStreamsDeviceRunsTheKernel) {
  life(kStream, trace::ObjectClass::kStream, trace::LifeOp::kCreate, 0, 0, 2);
  launch(kB, 0, 1, kStream);     // device 1's stream
  launch(kB, 0, 1, kStream + 8); // not known
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, AStreamOfTheSameDevice) {
  life(kStream, trace::ObjectClass::kStream, trace::LifeOp::kCreate);
  launch(kB, 0, 1, kStream);
  EXPECT_NE(after_death(), "");
}

TEST_F(PeerPointers, LibrariesPassTablesOfAllDevices) {
  trace.modules = {"+\t1\t300\t500\t0\t-\t/usr/lib/libnccl.so.2"};
  launch(kB);
  EXPECT_EQ(after_death(), "");
}

TEST_F(PeerPointers, OlderTracesDoNotNameTheLaunchsContext) {
  trace.format = "1.3";
  launch(kB);
  EXPECT_EQ(after_death(), "");
}

} // namespace
} // namespace gmt::test
