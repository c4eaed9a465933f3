// SPDX-License-Identifier: Apache-2.0
// host-pointer: kernels that are given addresses of host memory.

#include "analysis_fixture.h"

namespace gmt::test {
namespace {

constexpr std::uint64_t kFunction = 0x900, kHeap = 0x55d000000000, kStack = 0x7ffd00000000, kMapped = 0x7f0000100000;

class HostPointers : public AnalysisTest {
protected:
  HostPointers() {
    trace.format = "1.2";
    for (const std::string& line : {"heap_begin=" + std::to_string(kHeap), "heap_end=" + std::to_string(kHeap + kMiB),
                                    "stack_begin=" + std::to_string(kStack - 8 * kMiB),
                                    "stack_end=" + std::to_string(kStack)})
      trace.info.push_back(line);
  }
  void machine(bool reads_pageable_memory) {
    const std::uint64_t reads = reads_pageable_memory ? 1 : 0;
    log().record(Kind::kDevice, {}, {0, 96ull << 30, 512, 32, 512, reads, 0, 90, 1, 0, 0});
    // Parameters of 8 and of 24 bytes; the kernel's name.
    log().record(Kind::kKernel, {}, {kFunction, 2, 0 | 8ull << 32, 8 | 24ull << 32});
    log().record(Kind::kName, {}, {kFunction, 1, 'k'});
  }
  void launch(std::uint64_t first, std::uint64_t second = 0, std::uint16_t code = 0) {
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .result = code,
                  .stack = {0x400},
                  .flags = trace::kLaunchScanned},
                 {kFunction, 0, 1, 1, trace::argument_word(first, 0), trace::argument_word(second, 1)});
  }
};

TEST_F(HostPointers, HeapAndStackAsParametersAreErrors) {
  machine(false);
  launch(kHeap + 64);
  launch(kStack - 100);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  const Finding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.count, 2u);
  EXPECT_EQ(f.message, "The launch of k passes as parameter 1 the pointer 0x55d000000040, which is ordinary host "
                       "memory that the GPU cannot read.");
  EXPECT_EQ(labels(f), "launched here");
}

TEST_F(HostPointers, FieldOfAStructureIsAWarning) {
  machine(false);
  launch(0, kHeap);
  run();
  ASSERT_EQ(kinds(), "host-pointer");
  EXPECT_EQ(result.findings[0].severity, Severity::kWarning);
  EXPECT_NE(result.findings[0].message.find("passes in parameter 2 the pointer"), std::string::npos);
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

TEST_F(HostPointers, WhatCudaKnowsIsFine) {
  machine(false);
  cuda_malloc(kA, 4096);
  cuda_memcpy(kA, kMapped, 4096);
  cuda_malloc_host(kMapped, 4096);
  log().alloc({.api = "cuMemHostRegister_v2", .stack = {0x500}}, Family::kRegistered, kHeap, 4096);
  launch(kA, kMapped);
  launch(kMapped, kHeap);
  launch(12, 0);
  launch(kHeap + 8192, 0, 1); // refused: another finding's
  run();
  EXPECT_EQ(find("host-pointer"), nullptr);
}

TEST_F(HostPointers, DeviceThatReadsPageableMemoryMayHaveThem) {
  machine(true);
  launch(kHeap, kHeap);
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(HostPointers, OlderTracesAreNotJudged) {
  launch(kHeap, kHeap);
  run();
  EXPECT_EQ(kinds(), "");
}

} // namespace
} // namespace gmt::test
