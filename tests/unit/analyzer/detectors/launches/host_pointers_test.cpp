// SPDX-License-Identifier: Apache-2.0
// host-pointer: kernels that are given addresses of host memory. It is one file because heap, stack
// and variables need the same machine and the same launches.

#include <cstring>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kFunction = 0x900, kHeap = 0x55d000000000, kStack = 0x7ffd00000000,
                        kMapped = 0x7f0000100000;

class HostPointers : public AnalysisTest {
protected:
  HostPointers() {
    expect_only({"host-pointer"});
    trace.format = "1.2";
    for (const std::string& line :
         {"heap_begin=" + std::to_string(kHeap), "heap_end=" + std::to_string(kHeap + kMiB),
          "stack_begin=" + std::to_string(kStack - 8 * kMiB),
          "stack_end=" + std::to_string(kStack)})
      trace.info.push_back(line);
  }
  void machine(bool reads_pageable_memory) {
    const std::uint64_t reads = reads_pageable_memory ? 1 : 0;
    log().record({}, Made<trace::DeviceFields>()
                       .bytes(96ull << 30)
                       .texture_alignment(512)
                       .texture_pitch_alignment(32)
                       .surface_alignment(512)
                       .reads_pageable_memory(reads)
                       .uses_host_page_tables(0)
                       .compute_capability(90)
                       .concurrent_managed(1));
    kernel("_Z1kPf4Rows"); // k(float*, Rows)
  }
  // Parameters of 8 and of 24 bytes.
  void kernel(const std::string& name) {
    log().record({}, Made<trace::KernelFields>().function(kFunction).parameter_count(2),
                 {trace::pack_halves({0, 8}), trace::pack_halves({8, 24})});
    log().name(kFunction, name);
  }
  void synchronize(std::uint16_t code = 0) {
    log().record(
      {.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .result = code, .stack = {0x600}},
      Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  }
  void launch(std::uint64_t first, std::uint64_t second = 0, std::uint16_t code = 0) {
    log().record({.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .result = code,
                  .stack = {0x400},
                  .flags = trace::kLaunchScanned},
                 Made<trace::LaunchFields>().function(kFunction).grid({1, 1, 1}).block({1, 1, 1}),
                 {trace::argument_word(first, 0), trace::argument_word(second, 1)});
  }
};

TEST_F(HostPointers, HeapAndStackAsParametersAreErrors) {
  machine(false);
  launch(kHeap + 64);
  launch(kStack - 100);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.count, 2u);
  EXPECT_EQ(
    f.message,
    "The launch of k(float*, Rows) passes as parameter 1 the pointer 0x55d000000040, which is ordinary host "
    "memory that the GPU cannot read.");
  EXPECT_EQ(labels(f), "launched here");
}

// Padding holds what the stack held before; only a death behind it makes such a word worth
// reporting.
TEST_F(HostPointers, FieldOfAStructureIsReportedWhenTheContextDies) {
  machine(false);
  launch(0, kHeap);
  synchronize();
  launch(0, kHeap + 8);
  run();
  EXPECT_EQ(kinds(), "");
  synchronize(700);
  run();
  const ReportedFinding* f = find("host-pointer");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->severity, Severity::kWarning);
  EXPECT_EQ(f->count, 1u);
  EXPECT_EQ(f->address, kHeap + 8);
  EXPECT_EQ(
    f->message,
    "The launch of k(float*, Rows) passes in parameter 2 the pointer 0x55d000000008, which is "
    "ordinary host memory that the GPU cannot read; behind it cudaDeviceSynchronize reported an "
    "illegal address.");
  EXPECT_EQ(labels(*f), "launched here|reported here");
}

TEST_F(HostPointers, OnlyDeclaredPointersCountAtOnce) {
  for (const std::string& name :
       {std::string("_Z1km4Rows"), std::string("plain_c"), std::string("_Z1kPfS_S_")}) {
    SCOPED_TRACE(name);
    machine(false);
    kernel(name); // k(unsigned long, Rows); no types; one parameter more than the driver knows
    launch(kHeap);
    run();
    EXPECT_EQ(kinds(), "");
  }
  kernel("_Z1kIiEvPKT_4RowsIS0_iE"); // void k<int>(int const*, Rows<int, int>)
  launch(kHeap);
  run();
  EXPECT_EQ(kinds(), "host-pointer");
}

// A kernel that launches graphs gets them.
TEST_F(HostPointers, HandlesOfGraphsAreFine) {
  machine(false);
  kernel("_Z1kP14CUgraphExec_st4Rows"); // k(CUgraphExec_st*, Rows)
  launch(kHeap);
  synchronize(700);
  run();
  EXPECT_EQ(find("host-pointer"), nullptr);
}

// cublasLt::splitKreduce_kernel gets the addresses of alpha and beta on the host's stack, and does
// not read them.
TEST_F(HostPointers, KernelsOfLibrariesHavePointersThatTheyDoNotRead) {
  trace.modules = {"+\t1\t300\t500\t0\t-\t/usr/lib/libcublasLt.so.13",
                   "+\t1\t500\t700\t0\t-\t/bin/train"};
  machine(false);
  launch(kStack - 100);
  run();
  EXPECT_EQ(kinds(), "");
  synchronize(700);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_EQ(labels(result.findings[0]), "launched here|reported here");
}

TEST_F(HostPointers, MemoryThatACopyUsedIsKnown) {
  machine(false);
  cuda_malloc(kA, 4096);
  launch(kMapped + 100);
  cuda_memcpy(kA, kMapped, 4096);
  launch(kMapped + 4095);
  launch(kMapped + 4096);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_EQ(result.findings[0].count, 1u);
  EXPECT_EQ(labels(result.findings[0]), "launched here|host memory copied here");
  EXPECT_EQ(address_of(result.findings[0].stacks[1]), 0x300u);
}

TEST_F(HostPointers, KernelsOfGraphNodesMadeByHand) {
  machine(false);
  cuda_malloc(kA, 4096);
  const auto node = [this](std::uint64_t first, std::uint16_t code) {
    log().record({.api = "cuGraphAddKernelNode_v2", .result = code, .stack = {0x700}},
                 Made<trace::GraphKernelFields>()
                   .function(kFunction)
                   .graph(0x99)
                   .grid({1, 1, 1})
                   .block({1, 1, 1})
                   .node(0x40),
                 {trace::argument_word(first, 0), trace::argument_word(kHeap, 1)});
  };
  node(kA, 0);
  node(kHeap + 64, 1);
  run();
  EXPECT_EQ(find("host-pointer"), nullptr);
  node(kHeap + 64, 0);
  run();
  ASSERT_NE(find("host-pointer"), nullptr);
  const ReportedFinding& f = *find("host-pointer");
  EXPECT_EQ(
    f.message.find(
      "The graph's node for k(float*, Rows) passes as parameter 1 the pointer 0x55d000000040, "),
    0u)
    << f.message;
  EXPECT_EQ(labels(f), "node made here");
}

TEST_F(HostPointers, WhatCudaKnowsIsFine) {
  machine(false);
  cuda_malloc(kA, 4096);
  cuda_memcpy(kA, kMapped, 4096);
  cuda_malloc_host(kMapped, 4096);
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, MemoryKind::kRegistered, kHeap,
              4096);
  launch(kA, kMapped);
  launch(kMapped, kHeap);
  launch(12, 0);
  launch(kHeap + 8192, 0, 1); // refused: another finding's
  run();
  EXPECT_EQ(find("host-pointer"), nullptr);
}

TEST_F(HostPointers, EndOfAnArgumentsBlockIsNeverRead) {
  machine(false);
  kernel("_Z1kPf3Two");
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, MemoryKind::kRegistered, kHeap,
              4096);
  launch(kHeap + 4096, kHeap);
  run();
  EXPECT_EQ(kinds(), "");
  launch(kHeap + 4096, 0); // whose end?
  run();
  EXPECT_EQ(kinds(), "host-pointer");
}

TEST_F(HostPointers, PointerThatCountsFromOneIsAWarning) {
  machine(false);
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, MemoryKind::kRegistered,
              kHeap + 4096, 4096);
  launch(kHeap + 4096 - 8);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_NE(result.findings[0].message.find(
              "; or, as a pointer that counts from 1, 8 bytes before 4.0 KiB of "),
            std::string::npos);
}

TEST_F(HostPointers, FreedPinnedMemoryIsAnothersFinding) {
  machine(false);
  cuda_malloc_host(kHeap, 4096);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kHeap);
  launch(kHeap);
  run();
  EXPECT_EQ(kinds(), "");
}

// Wherever the memory lies.
TEST_F(HostPointers, UnregisteredMemoryIsTheHostsAgain) {
  machine(false);
  const auto memory = [&](bool registered) {
    const Call call{.api = registered ? "cuMemHostRegister_v2" : "cuMemHostUnregister",
                    .stack = {0x500}};
    if (registered) log().alloc(call, MemoryKind::kRegistered, kMapped, 4096);
    else log().release(call, FreeFunction::kHostUnregister, kMapped);
  };
  memory(true);
  launch(kMapped + 16);
  memory(false);
  launch(kMapped + 16);
  memory(true);
  launch(kMapped + 16);
  memory(false);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_NE(
    f.message.find(
      "which is ordinary host memory that the GPU cannot read, as it is not registered any more."),
    std::string::npos);
  EXPECT_EQ(labels(f), "launched here|unregistered here|registered here");
}

// The program at 0x55c000000000, its variables from 0x55c000003000.
class StaticVariables : public HostPointers {
protected:
  StaticVariables() {
    trace.modules = {"+\t0\t55c000000000\t55c000005000\t55c000000000\t-\t/no/such/program",
                     "=\t55c000000000\t55c000003000\t55c000005000"};
  }
  static constexpr std::uint64_t kVariable = 0x55c000003000;
};

TEST_F(StaticVariables, GivenToAKernelAreErrors) {
  machine(false);
  launch(kVariable);
  launch(kVariable + 0x1fff);
  launch(kVariable - 1); // what no variable is in
  launch(kVariable + 0x2000);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.count, 2u);
  EXPECT_EQ(
    f.message,
    "The launch of k(float*, Rows) passes as parameter 1 the pointer 0x55c000003000, which is a "
    "static variable in the host's memory, which the GPU cannot read.");
  EXPECT_NE(f.advice.find("pass the address that cudaGetSymbolAddress gives"), std::string::npos);
}

TEST_F(StaticVariables, RegisteredOnesAreTheGpusToo) {
  machine(false);
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, MemoryKind::kRegistered, kVariable,
              4096);
  launch(kVariable + 16);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StaticVariables, DeviceThatReadsPageableMemoryMayHaveThem) {
  machine(true);
  launch(kVariable);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StaticVariables, OnlyWhileTheirFileIsLoaded) {
  machine(false);
  trace.modules.push_back("-\t" + std::to_string(trace.next_order()) + "\t55c000000000");
  launch(kVariable);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(StaticVariables, NumbersAreNoSuspectsWhereTheProgramLiesLow) {
  machine(false);
  trace.modules = {"+\t0\t400000\t500000\t0\t-\t/no/such/program", "=\t400000\t480000\t500000"};
  launch(0, 0x490000);
  synchronize(700);
  run();
  EXPECT_EQ(kinds(), "");
  launch(0x490000); // declared a pointer
  run();
  EXPECT_EQ(kinds(), "host-pointer");
}

TEST_F(StaticVariables, NamesComeFromTheFile) {
  machine(false);
  launch(kVariable);
  options.find_static = [](const Module& module, std::uint64_t address) -> StaticVariable {
    EXPECT_EQ(module.path, "/no/such/program");
    EXPECT_EQ(address, kVariable);
    return {StaticVariable::Kind::kShadow, "table"};
  };
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_NE(result.findings[0].message.find(
              "the host's shadow of the __device__ or __constant__ variable table: "),
            std::string::npos);
  EXPECT_EQ(result.findings[0].advice,
            "Pass the address that cudaGetSymbolAddress gives for table, or let the kernel "
            "use the variable by its name.");
}

TEST_F(HostPointers, DeviceThatReadsPageableMemoryMayHaveThem) {
  machine(true);
  launch(kHeap, kHeap);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(HostPointers, OlderTracesAreNotChecked) {
  launch(kHeap, kHeap);
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
