// SPDX-License-Identifier: Apache-2.0
// What a program did with its memory between allocation and death: read before it was written.

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class Uses : public AnalysisTest {
protected:
  void read(std::uint64_t from, std::uint64_t bytes) {
    log().copy({.api = "cuMemcpyDtoH_v2", .via = "cudaMemcpy", .stack = {0x301}}, kHost, from,
               bytes, Side::kHost, Side::kDevice);
  }
  void write(std::uint64_t to, std::uint64_t bytes) { cuda_memcpy(to, kHost, bytes); }
  // With one pointer among its arguments; not scanned as traces of version 1.0.
  void launch(std::uint64_t pointer = 0, bool scanned = true) {
    log().record(
      {.api = "cuLaunchKernel", .flags = scanned ? trace::kLaunchScanned : std::uint16_t{0}},
      Made<trace::LaunchFields>().function(0xf).grid({1, 1, 1}).block({1, 1, 1}),
      {pointer == 0 ? 0 : trace::argument_word(pointer, 0)});
  }
  void use(std::uint64_t address, trace::UseClass what) {
    log().record({.api = "cuIpcGetMemHandle"}, Made<trace::UseFields>().address(address).use(what));
  }
  std::string severities(const std::string& kind) const {
    std::string all;
    for (const ReportedFinding& f : result.findings) {
      if (f.kind == kind)
        all += f.severity == Severity::kError ? 'E' : f.severity == Severity::kWarning ? 'W' : 'n';
    }
    return all;
  }
};

TEST_F(Uses, ReadBeforeAnythingWrote) {
  cuda_malloc(kA, 1000);
  read(kA, 1000);
  read(kA, 1000); // reported already
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "uninitialized-read");
  const ReportedFinding& f = *find("uninitialized-read");
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(
    f.message,
    "cudaMemcpy reads 1,000 bytes of a block of 1,000 bytes of device memory allocated by cudaMalloc, which "
    "nothing has written: no copy, no set, and no kernel has run since the block was allocated.");
  EXPECT_EQ(f.advice,
            "Write the memory before it is read: by a copy, by a kernel, or, if 0 is right, with "
            "cudaMemset.");
  EXPECT_EQ(f.count, 1u);
  EXPECT_EQ(labels(f), "copied here|allocated here");
}

TEST_F(Uses, PartsAreReported) {
  cuda_malloc(kA, 1000);
  write(kA + 100, 100);
  log().set({.api = "cuMemsetD8_v2"}, kA, 100);
  read(kA, 200);
  read(kA + 150, 100);
  cuda_free(kA);
  run();
  ASSERT_EQ(kinds(), "uninitialized-read");
  EXPECT_EQ(find("uninitialized-read")->bytes, 50u);
  EXPECT_NE(find("uninitialized-read")->message.find("nothing has written 50 of them"),
            std::string::npos);
}

TEST_F(Uses, KernelsMayHaveWritten) {
  launch(); // before its time
  cuda_malloc(kA, 1000, 0x100);
  cuda_malloc(kB, 1000, 0x101);
  read(kA, 1000); // error
  launch(kB + 8);
  read(kB, 1000); // the kernel's
  cuda_malloc(kC, 1000, 0x102);
  launch();
  read(kC, 1000); // note
  for (const std::uint64_t address : {kA, kB, kC}) cuda_free(address);
  run();
  EXPECT_EQ(kinds(), "uninitialized-read uninitialized-read");
  EXPECT_EQ(severities("uninitialized-read"), "En");
}

TEST_F(Uses, LaunchesWithUnknownArgumentsExcuseAll) {
  cuda_malloc(kA, 1000, 0x100);
  cuda_malloc(kB, 1000, 0x101);
  launch(0, false);
  read(kA, 1000);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(Uses, MemoryThatOthersMayWrite) {
  log().alloc({.api = "cuMemAllocManaged"}, MemoryKind::kManaged, kA, 1000);
  read(kA, 1000);
  cuda_free(kA);
  cuda_malloc(kB, 1000);
  use(kB, trace::UseClass::kExport);
  read(kB, 1000);
  cuda_free(kB);
  log().alloc({.api = "cuMemAllocFromPoolAsync"}, MemoryKind::kStreamOrdered, kC, 1000, 0,
              {0, 0, 0, 0, 0, 0x90, 0});
  read(kC, 1000);
  cuda_free(kC);
  run();
  EXPECT_EQ(severities("uninitialized-read"), "");
}

TEST_F(Uses, PaddingIsNoData) {
  const auto pitched = [&](std::uint64_t address) {
    log().alloc({.api = "cuMemAllocPitch_v2"}, MemoryKind::kPitched, address, 512 * 4, 0,
                {512, 400, 4, 1, 4, 0, 0});
  };
  pitched(kA);
  log().record({.api = "cuMemsetD2D8_v2"}, Made<trace::SetFields>()
                                             .destination(kA)
                                             .bytes(400 * 4)
                                             .pitch(512)
                                             .width(400)
                                             .height(4)
                                             .element_bytes(1));
  read(kA, 512 * 4);
  cuda_free(kA);
  pitched(kB);
  for (const std::uint64_t row : {0U, 1U, 3U}) write(kB + row * 512, 400);
  read(kB, 512 * 2);
  read(kB, 512 * 4);
  cuda_free(kB);
  run();
  ASSERT_EQ(severities("uninitialized-read"), "E");
  EXPECT_EQ(find("uninitialized-read")->bytes, 400u); // row 2
  EXPECT_NE(find("uninitialized-read")->message.find("reads 1,600 bytes"), std::string::npos);
}

// Rows at a pitch of the program's own: what lies behind the last one is no data either.
TEST_F(Uses, PaddingBehindTheLastRowIsNoData) {
  cuda_malloc(kA, 512 * 10);
  log().record({.api = "cuMemcpy2DUnaligned_v2",
                .via = "cudaMemcpy2D",
                .flags = trace::copy_flags(Side::kDevice, Side::kHost, false)},
               Made<trace::CopyFields>()
                 .destination(kA)
                 .source(kHost)
                 .bytes(400 * 10)
                 .destination_pitch(512)
                 .source_pitch(400)
                 .width(400)
                 .height(10)
                 .depth(1)
                 .destination_rows(0)
                 .source_rows(0));
  read(kA, 512 * 10);
  run();
  EXPECT_EQ(find("uninitialized-read"), nullptr);
}

TEST_F(Uses, RowsOfACopy) {
  cuda_malloc(kA, 512 * 4);
  for (const std::uint64_t row : {0U, 1U, 3U}) write(kA + row * 512, 400);
  const auto read_rows = [&](std::uint64_t rows) {
    log().record(
      {.api = "cuMemcpy2D_v2", .flags = trace::copy_flags(Side::kHost, Side::kDevice, false)},
      Made<trace::CopyFields>()
        .destination(kHost)
        .source(kA)
        .bytes(400 * rows)
        .destination_pitch(400)
        .source_pitch(512)
        .width(400)
        .height(rows)
        .depth(1)
        .destination_rows(0)
        .source_rows(0));
  };
  read_rows(2);
  cuda_malloc(kB, 64);
  read_rows(4);
  for (const std::uint64_t address : {kA, kB}) cuda_free(address);
  run();
  ASSERT_EQ(severities("uninitialized-read"), "E");
  EXPECT_EQ(find("uninitialized-read")->bytes, 400u);
}

TEST_F(Uses, GrowingABufferMovesItsUnusedEnd) {
  cuda_malloc(kA, 1000);
  cuda_malloc(kB, 2000);
  write(kA, 10);
  log().copy({.api = "cuMemcpyDtoD_v2"}, kB, kA, 1000, Side::kDevice, Side::kDevice);
  read(kB, 10);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_EQ(severities("uninitialized-read"), "n");
}

TEST_F(Uses, ReadsOfACaptureComeLater) {
  cuda_malloc(kA, 1000);
  cuda_malloc(kB, 1000, 0x101);
  log().record({.api = "cuStreamBeginCapture_v2"},
               Made<trace::SyncFields>().stream(0x5).op(trace::SyncOp::kBeginCapture));
  log().record(
    {.api = "cuMemcpyDtoHAsync_v2", .flags = trace::copy_flags(Side::kHost, Side::kDevice, true)},
    Made<trace::CopyFields>().destination(kHost).source(kA).bytes(1000).stream(0x5));
  log().record({.api = "cuStreamEndCapture"},
               Made<trace::SyncFields>().stream(0x5).graph(0x6).op(trace::SyncOp::kEndCapture));
  log().record(
    {.api = "cuGraphLaunch"},
    Made<trace::SyncFields>().stream(0x5).executable_graph(0x7).op(trace::SyncOp::kGraphLaunch));
  read(kB, 1000); // the graph may have written it
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(Uses, AfterUnreadCallsNothingIsKnown) {
  cuda_malloc(kA, 1000);
  cuda_malloc(kB, 1000);
  log().record(Kind::kNote, {.api = "cuPointerSetAttribute"}, {1, 6, kA, 0});
  read(kA, 1000);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_TRUE(result.findings.empty());
}

TEST_F(Uses, WhatWasLostMayHaveUsedIt) {
  cuda_malloc(kA, 1000);
  read(kA, 1000);
  cuda_malloc(kB, 1000);
  cuda_free(kA);
  cuda_free(kB);
  log().header.lost[1] = 3;
  run();
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(is_not_checked("uninitialized-read", "records were lost"));
  EXPECT_TRUE(is_not_checked("unused", "records were lost"));
}

TEST_F(Uses, LibrariesThatReachDeviceMemoryThemselves) {
  trace.modules.push_back("+\t1\t7f0000000000\t7f0000100000\t0\t-\t/usr/lib/libibverbs.so.1.14");
  cuda_malloc(kA, 1000);
  read(kA, 1000);
  cuda_malloc(kB, 1000);
  cuda_free(kA);
  cuda_free(kB);
  run();
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(is_not_checked("uninitialized-read", "libibverbs is loaded"));
  EXPECT_TRUE(is_not_checked("unused", "libibverbs is loaded"));
}

TEST_F(Uses, GarbageThatStaysOnTheDeviceIsANote) {
  cuda_malloc(kA, 1000);
  cuda_malloc(kB, 1000);
  log().copy({.api = "cuMemcpyDtoD_v2"}, kB, kA, 1000, Side::kDevice, Side::kDevice);
  cuda_free(kA);
  cuda_free(kB);
  cuda_malloc_host(kC, 1000);
  cuda_malloc(kA, 1000, 0x103);
  // Pinned: the host's
  log().copy({.api = "cuMemcpyDtoH_v2"}, kC, kA, 1000, Side::kHost, Side::kDevice);
  cuda_free(kA);
  log().release({.api = "cuMemFreeHost"}, FreeFunction::kMemFreeHost, kC);
  run();
  EXPECT_EQ(severities("uninitialized-read"), "nE");
}

TEST_F(Uses, AddressesAreReused) {
  for (int i = 0; i < 2; ++i) {
    cuda_malloc(kA, 1000);
    if (i == 0) write(kA, 1000);
    read(kA, 1000);
    cuda_free(kA);
  }
  run();
  EXPECT_EQ(severities("uninitialized-read"), "E");
}

TEST_F(Uses, ManyPiecesCountAsWritten) {
  cuda_malloc(kA, kMiB);
  for (std::uint64_t i = 0; i < 100; ++i) write(kA + i * 2048, 1024);
  read(kA, kMiB);
  cuda_free(kA);
  run();
  EXPECT_EQ(severities("uninitialized-read"), "");
}

} // namespace
} // namespace gmt::test
