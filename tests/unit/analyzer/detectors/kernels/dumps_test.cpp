// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs' core dumps: what the heap makes of their addresses, and which launches they may
// be of. Never is a thread blamed, or an address named, that the evidence does not carry.

#include <sstream>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kFill = 0x900, kOther = 0x910; // functions

class Dumps : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.5";
    expect_only({"kernel-out-of-bounds", "kernel-use-after-free", "kernel-misaligned",
                 "kernel-assert", "kernel-fault"});
    log().name(kFill, "_Z4fillPfi");
    log().name(kOther, "_Z5otherv");
    cuda_malloc(kA, 4000, 0x100);
  }
  void launch(std::uint64_t from = 0x400, std::uint64_t function = kFill) {
    log().record(
      Kind::kLaunch, {.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .stack = {from}},
      {function, 0, trace::pack_grid({4, 1, 1}), trace::pack_block_extents({256, 1, 1})});
  }
  // Of fill, with pointers among its arguments.
  void launch_with(const std::vector<std::uint64_t>& pointers) {
    std::vector<std::uint64_t> words{kFill, 0, trace::pack_grid({4, 1, 1}),
                                     trace::pack_block_extents({256, 1, 1})};
    for (unsigned i = 0; i < pointers.size(); ++i)
      words.push_back(trace::argument_word(pointers[i], i));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {0x400},
                  .flags = trace::kLaunchScanned},
                 words);
  }
  // Of fill(float*, int), which the grid 6 is of.
  std::string fault(unsigned exception, const std::string& evidence, const std::string& access,
                    const std::string& rest = "") {
    return "fault\t" + std::to_string(exception) + "\t" + evidence +
           "\t6\t_Z4fillPfi\t_Z4fillPfi\t130\t" + access + "\t1\t32\t0\t0\n" +
           "extents\t4\t1\t1\t256\t1\t1\nplace\t8\t_Z4fillPfi\tsrc/fill.cu\n" + rest;
  }
  static constexpr const char* kStore = "store\tglobal\t4";

  const ReportedFinding& only(const std::string& faults) {
    trace.write(directory.path());
    write_file(directory.path() / "core-dump", "dump\t300000\tNVIDIA H200\t-\n" + faults);
    Analysis analysis = analyze(directory.path(), options);
    std::erase_if(analysis.findings, [](const Finding& f) { return !f.fault; });
    result = WordedAnalysis(std::move(analysis));
    EXPECT_EQ(result.findings.size(), 1u);
    return result.findings.at(0);
  }
  static std::string lanes(unsigned first, unsigned count, std::uint64_t address, int stride) {
    char line[128];
    std::snprintf(line, sizeof line, "lanes\t1\t0\t0\t%u\t%u\t%llx\t%d\n", first, count,
                  static_cast<unsigned long long>(address), stride);
    return line;
  }
};

TEST_F(Dumps, AddressesPastTheEndAreOutOfBounds) {
  for (int i = 0; i < 3; ++i) launch(0x3f0, kOther);
  launch();
  const ReportedFinding& f = only(fault(14, "warp", kStore, lanes(224, 32, kA + 3980, 4)));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(
    f.message,
    "fill(float*, int) writes 4 bytes at 0x7f32a0000fa0, right behind the end of 3.9 KiB of "
    "device memory allocated by cudaMalloc; so do 27 of the 32 threads whose address is known.");
  EXPECT_EQ(f.address, kA + 4000);
  EXPECT_EQ(f.count, 27u);
  EXPECT_EQ(f.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(f.stacks[0].device->thread, (std::array<std::uint32_t, 3>{229, 0, 0}));
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x400u);
  EXPECT_EQ(f.fault->certainty, DeviceFault::Certainty::kInferred);
  EXPECT_EQ(f.fault->instruction, 0x130u);
  EXPECT_NE(f.advice.find("inferred"), std::string::npos);
}

TEST_F(Dumps, FreedMemoryIsUseAfterFree) {
  cuda_free(kA);
  launch();
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(0, 32, kA, 4)));
  EXPECT_EQ(f.kind, "kernel-use-after-free");
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here");
}

// A store's fault comes after the synchronisation has answered 0: the program goes on and frees.
TEST_F(Dumps, WhatIsFreedBehindTheLaunchWasLive) {
  launch();
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(224, 32, kA + 3980, 4)));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(f.address, kA + 4000);
  EXPECT_EQ(f.count, 27u);
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
}

// Only those that harmed nothing are left in the dump.
TEST_F(Dumps, WhatIsFreedBehindTheLaunchIsNotBlamed) {
  launch();
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore, lanes(0, 32, kA, 4)));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_FALSE(f.address);
}

// The lanes that are left are those of another branch.
TEST_F(Dumps, HarmlessAddressesNameNoThread) {
  launch();
  const ReportedFinding& f =
    only(fault(14, "warp", kStore, "only\t1\t0\t0\n" + lanes(0, 16, kA, 8)));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.message,
            "A 4-byte store of fill(float*, int) at fill.cu:8 met a fault (illegal address); the "
            "threads that are left of it use memory that is allocated.");
  EXPECT_FALSE(f.address);
  EXPECT_FALSE(f.stacks[0].device->thread);
}

TEST_F(Dumps, LostAddressesAreNotNamed) {
  launch();
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_NE(f.message.find("no address of it is recorded"), std::string::npos);
  EXPECT_FALSE(f.address);
}

// The warp that faulted is gone: what the launch was given is all that is known.
TEST_F(Dumps, TheOnlyMemoryOfALaunchIsNamed) {
  launch_with({kA + 16});
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_NE(
    f.message.find("; the only memory that its launch was given is 3.9 KiB of device memory "
                   "allocated by cudaMalloc."),
    std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_FALSE(f.address);
}

TEST_F(Dumps, SeveralBlocksOfALaunchAreCandidates) {
  cuda_malloc(kB, 4000, 0x101);
  launch_with({kA, kB, kA + 8});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_NE(f.message.find("; its launch was given 2 blocks of memory and may have left any of "
                           "them."),
            std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here|allocated here");
}

// As a field of a structure, which alone would be a warning.
TEST_F(Dumps, FreedMemoryThatTheLaunchWasGivenIsACandidate) {
  cuda_malloc(kB, 4000, 0x101);
  cuda_free(kB, 0, 0x201);
  launch_with({kA, kB + 8});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_NE(f.message.find("; the only live memory that its launch was given is 3.9 KiB of device "
                           "memory allocated by cudaMalloc; its launch was given a pointer into "
                           "memory that was already freed: 3.9 KiB of device memory allocated by "
                           "cudaMalloc."),
            std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here|allocated here");
}

// Loads overwrite a register of their address. The heap says which memory the other half fits to.
class HalfAddresses : public Dumps {
protected:
  static std::string halves(std::uint64_t first, std::uint64_t step = 4) {
    std::ostringstream text;
    text << "low-halves\t1\t0\t0\t0\t32\t" << std::hex << (first & UINT32_MAX) << std::dec << '\t'
         << step << '\n';
    return text.str();
  }
  const ReportedFinding& load(const std::string& lanes) {
    return only(fault(14, "warp", "load\tglobal\t4", lanes));
  }
};

TEST_F(HalfAddresses, MemoryThatAloneFitsIsNamed) {
  cuda_malloc(kB, 4000, 0x101);
  launch_with({kA, kB});
  const ReportedFinding& f = load(halves(kA + 4000 - 64));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(f.message,
            "fill(float*, int) reads 4 bytes, most likely right behind the end of 3.9 KiB of "
            "device memory allocated by cudaMalloc: its address ends in a0000fa0, which fits "
            "no other memory that the launch was given.");
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_EQ(f.count, 16u);
  EXPECT_FALSE(f.address);
  EXPECT_NE(f.advice.find("the load overwrote the register that held the rest"), std::string::npos);
}

TEST_F(HalfAddresses, FreedMemoryOfTheLaunch) {
  cuda_malloc(kB, 4000, 0x101);
  cuda_free(kB, 0, 0x201);
  launch_with({kA, kB + 8});
  const ReportedFinding& f = load(halves(kB + 8));
  EXPECT_EQ(f.kind, "kernel-use-after-free");
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here");
}

// It may as well be inside of that.
TEST_F(HalfAddresses, LiveMemoryThatFitsIsNoMistake) {
  launch_with({kA});
  EXPECT_EQ(load(halves(kA + 64)).kind, "kernel-fault");
}

TEST_F(HalfAddresses, TwoBlocksThatFitAreCandidates) {
  const std::uint64_t twin = kA + (std::uint64_t{1} << 32);
  cuda_malloc(twin, 4000, 0x101);
  launch_with({kA, twin});
  const ReportedFinding& f = load(halves(kA + 4096));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.count, 1u);
}

TEST_F(HalfAddresses, OtherMemoryThanTheLaunchWasGiven) {
  launch_with({kA});
  EXPECT_EQ(load(halves(kA + (std::uint64_t{1} << 30))).kind, "kernel-fault");
}

TEST_F(HalfAddresses, OfTwoLaunchesNothingIsInferred) {
  launch_with({kA});
  launch(0x410);
  EXPECT_EQ(load(halves(kA + 4096)).kind, "kernel-fault");
}

// Of two launches one did it, and what it was given is not known.
TEST_F(Dumps, TwoCandidatesNameNoMemory) {
  launch_with({kA});
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|launched here|launched here");
}

TEST_F(Dumps, MisalignedNamesTheFirst) {
  launch();
  const ReportedFinding& f = only(fault(6, "warp", kStore, lanes(0, 32, kA + 1, 4)));
  EXPECT_EQ(f.kind, "kernel-misaligned");
  EXPECT_EQ(f.message,
            "fill(float*, int) writes 4 bytes at 0x7f32a0000001, which is no multiple of 4; so do "
            "all of the 32 threads whose address is known.");
}

TEST_F(Dumps, AssertsTrapsAndSharedMemory) {
  launch();
  EXPECT_EQ(only(fault(12, "stopped", "-\t-\t0")).message,
            "An assert in fill(float*, int) at fill.cu:8 failed.");
  EXPECT_EQ(result.findings[0].kind, "kernel-assert");
  EXPECT_NE(result.findings[0].advice.find("CUDA has printed its text"), std::string::npos);
  const std::string details = "failed\t1\t0\t0\t5\t2\t0\ncondition\tn > 0 && \"rows\"\n";
  const ReportedFinding& full = only(fault(12, "stopped", "-\t-\t0", details));
  EXPECT_EQ(full.message, "An assert in fill(float*, int) at fill.cu:8 failed: n > 0 && \"rows\".");
  EXPECT_EQ(full.advice.find("CUDA has printed"), std::string::npos);
  EXPECT_EQ(full.stacks[0].device->block, (std::array<std::uint32_t, 3>{1, 0, 0}));
  EXPECT_EQ(full.stacks[0].device->thread, (std::array<std::uint32_t, 3>{5, 2, 0}));
  EXPECT_EQ(only(fault(0, "stopped", "-\t-\t0")).message,
            "fill(float*, int) stopped at fill.cu:8 by a trap.");
  EXPECT_EQ(result.findings[0].kind, "kernel-fault");
  EXPECT_EQ(
    only(fault(5, "warp", "store\tshared\t4")).message,
    "A 4-byte store of fill(float*, int) at fill.cu:8 lies outside of the shared memory of its block.");
  EXPECT_EQ(result.findings[0].kind, "kernel-out-of-bounds");
  EXPECT_EQ(only(fault(5, "warp", "store\tlocal\t1")).kind, "kernel-fault");
  EXPECT_EQ(only(fault(4, "warp", "-\t-\t0")).message,
            "fill(float*, int) met a fault at fill.cu:8: illegal instruction.");
}

TEST_F(Dumps, TwoLinesAreTwoCandidates) {
  launch(0x400);
  launch(0x410);
  launch(0x410); // a loop
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_EQ(labels(f), "accessed here|launched here|launched here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x410u); // the newest first
  EXPECT_NE(f.message.find("; 2 lines may have launched it"), std::string::npos);
}

TEST_F(Dumps, WhatTheHostWaitedForIsNoCandidate) {
  launch(0x400);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  launch(0x410);
  EXPECT_EQ(address_of(only(fault(14, "warp", "load\tglobal\t4")).stacks[1]), 0x410u);
}

// A store's fault may come after the synchronisation has answered 0.
TEST_F(Dumps, AllDoneLeavesTheNewest) {
  launch(0x400);
  launch(0x410);
  log().record({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize"},
               Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  const ReportedFinding& f = only(fault(14, "processor", kStore));
  EXPECT_EQ(labels(f), "accessed here|launched here");
  EXPECT_EQ(address_of(f.stacks[1]), 0x410u);
}

// The grid's id counts the launches: one that comes later has a higher one.
TEST_F(Dumps, LaunchesBehindTheGridAreNoCandidates) {
  for (int i = 0; i < 6; ++i) launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))), "accessed here|launched here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x400u);
}

// And one that came before has a lower one.
TEST_F(Dumps, LaunchesBeforeTheGridAreNoCandidates) {
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))), "accessed here|launched here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x410u);
}

TEST_F(Dumps, LargeSetsTakeIdsAndSmallOnesDoNot) {
  for (const std::uint64_t bytes : {4096u, 4u << 20, 1000u, 1u << 20})
    log().record({.api = "cuMemsetD8_v2"}, Made<trace::SetFields>().destination(kB).bytes(bytes));
  for (int i = 0; i < 2; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))), "accessed here|launched here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x410u);
}

TEST_F(Dumps, KernelsOfAGraphTakeIdsOnce) {
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}},
               Made<trace::GraphKernelFields>().function(kOther).graph(0x70).node(0x71));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x72)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x70));
  for (int i = 0; i < 4; ++i)
    log().record({.api = "cuGraphLaunch", .stack = {0x700}},
                 Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))), "accessed here|launched here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x400u);
}

// A copy may take an id: both launches may have the grid's.
TEST_F(Dumps, CopiesLeaveBothLaunches) {
  for (int i = 0; i < 4; ++i) launch(0x3f0, kOther);
  log().record({.api = "cuMemcpyDtoDAsync_v2"},
               Made<trace::CopyFields>().destination(kA).source(kA + 512).bytes(64));
  launch(0x400);
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|launched here|launched here");
}

TEST_F(Dumps, KernelOfAGraph) {
  log().record({.api = "cuGraphAddKernelNode_v2", .stack = {0x600}},
               Made<trace::GraphKernelFields>()
                 .function(kFill)
                 .graph(0x70)
                 .grid({4, 1, 1})
                 .block({256, 1, 1})
                 .node(0x71));
  log().record({.api = "cuGraphInstantiateWithFlags"}, Made<trace::LifeFields>()
                                                         .handle(0x72)
                                                         .object(trace::ObjectClass::kGraphExec)
                                                         .op(trace::LifeOp::kCreate)
                                                         .parent(0x70));
  log().record({.api = "cuGraphLaunch", .stack = {0x700}},
               Made<trace::SyncFields>().op(trace::SyncOp::kGraphLaunch).executable_graph(0x72));
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|graph launched here|node made here");
}

TEST_F(Dumps, DamagedLinesAreCounted) {
  launch();
  const std::string good = fault(12, "stopped", "-\t-\t0");
  only("lanes\t1\n" + good + "lanes\t1\t0\t0\t0\t4000000000\t10\t4\nfault\t1\nonly\tx\n");
  EXPECT_EQ(open_trace(directory.path()).value().damaged_lines, 4u);
}

} // namespace
} // namespace gmt::test
