// SPDX-License-Identifier: Apache-2.0
// What else is said of measured accesses: shared and local memory, the allocation behind an access,
// the tables, and everything that was not measured.

#include "tests/unit/analyzer/support/access_fixture.h"

namespace gmt::test {
namespace {

using trace::AccessTrouble;

TEST_F(AccessTest, BankConflicts) {
  const auto verdict = [this](const Access& a) -> std::string {
    access = {};
    access.windows({});
    function("_Z4stepPf");
    add(a);
    run_access();
    const ReportedFinding* f = find("bank-conflict");
    if (f == nullptr) return "";
    const std::size_t at = f->message.find(" have ") + 6;
    return (f->severity == Severity::kNote ? "note " : "warning ") +
           f->message.substr(at, f->message.find(" bank") - at);
  };
  EXPECT_EQ(verdict({.wavefronts = 32, .ideal_wavefronts = 1}),
            "warning 32.0-way"); // a column of a 32x32 tile
  EXPECT_NE(find("bank-conflict")->advice.find("tile[32][33]"), std::string::npos);
  EXPECT_EQ(verdict({.wavefronts = 2, .ideal_wavefronts = 1}), "warning 2.0-way");
  EXPECT_NE(find("bank-conflict")->message.find("an odd multiple of 2 words apart"),
            std::string::npos);
  EXPECT_EQ(verdict({.wavefronts = 1.5, .ideal_wavefronts = 1}), "note 1.50-way");
  EXPECT_EQ(find("bank-conflict")->message.find("words apart"), std::string::npos);
  EXPECT_EQ(verdict({.wavefronts = 1, .ideal_wavefronts = 1}), ""); // in order, or one word for all
  EXPECT_EQ(verdict({.width = 16, .wavefronts = 4, .ideal_wavefronts = 4}), ""); // wide by nature
  // Most threads sit out
  EXPECT_EQ(verdict({.wavefronts = 1, .ideal_wavefronts = 1, .threads = 8}), "");
  EXPECT_EQ(verdict({.wavefronts = 32, .ideal_wavefronts = 0}), "");
  // Below the floor
  EXPECT_EQ(verdict({.wavefronts = 32, .ideal_wavefronts = 1, .executions = 100}), "");
}

// 1,024 wavefronts where 32 would do, measured on an H200.
TEST_F(AccessTest, AnUnpaddedTile) {
  floor = 0;
  access.windows({});
  function("_Z4stepPf");
  add({.wavefronts = 32, .ideal_wavefronts = 1, .executions = 32});
  run_access();
  EXPECT_EQ(
    find("bank-conflict")->message,
    "shared memory 4-byte loads in step at step.cu:10 have 32.0-way bank conflicts, 32.0 turns a "
    "request instead of 1.00 (measured in its only launch), which loses 992 turns of 128 bytes: "
    "neighbouring threads are a multiple of 32 words apart, or meet as often without order.");
}

TEST_F(AccessTest, LocalMemory) {
  access.windows({});
  function("_Z4stepPf", 10, 5);
  add({.op = MemoryOp::kStore, .line = 11, .local = 4});
  add({.op = MemoryOp::kLoad, .line = 12, .local = 8});
  run_access();
  ASSERT_EQ(kinds(), "local-spill");
  const ReportedFinding& f = *find("local-spill");
  EXPECT_EQ(f.severity, Severity::kNote);
  EXPECT_EQ(f.bytes, 12 * kWarps * 32 * 2); // five launches of ten
  EXPECT_EQ(
    f.message,
    "step moved 768.0 MiB to and from local memory in all launches (12,582,912 sectors by 2 "
    "instructions, measured in 5 of 10 launches): spilled registers, or arrays that are indexed at "
    "run time.");
  EXPECT_EQ(f.stacks.at(0).frames.at(0).line, 12u); // the costlier one
  EXPECT_NE(f.advice.find("-maxrregcount"), std::string::npos);
}

TEST_F(AccessTest, TheOnlyMemoryOfAKernelIsNamed) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 5, .ideal = 4});
  name(kKernel, "_Z4stepPf");
  cuda_malloc(kA, 8 * kMiB, 0x111);
  launch(kKernel, {kA + 4});
  launch(kKernel, {kA + 4});
  run_access();
  const ReportedFinding& f = *find("uncoalesced");
  EXPECT_NE(f.message.find(
              "; the kernel was given no other memory than 8.0 MiB of device memory allocated by "
              "cudaMalloc, by a pointer 4 bytes behind a multiple of 32."),
            std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|first launched here|allocated here");
  EXPECT_EQ(address_of(f.stacks[2]), 0x111u);
  EXPECT_EQ(f.address, kA);
}

TEST_F(AccessTest, RowsOffASectorExplainAMisalignedAccess) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 5, .ideal = 4});
  name(kKernel, "_Z4stepPf");
  cuda_malloc(kA, 8 * kMiB);
  launch(kKernel, {kA});
  log().record({.api = "cuMemcpy2D_v2", .via = "cudaMemcpy2D"}, Made<trace::CopyFields>()
                                                                  .destination(kA)
                                                                  .source(kHost)
                                                                  .bytes(64 * 400)
                                                                  .destination_pitch(400)
                                                                  .source_pitch(400)
                                                                  .width(400)
                                                                  .height(64)
                                                                  .depth(1)
                                                                  .destination_rows(64)
                                                                  .source_rows(64));
  run_access();
  EXPECT_NE(find("uncoalesced")->message.find("whose rows are 400 bytes apart, no multiple of 32"),
            std::string::npos)
    << find("uncoalesced")->message;
}

TEST_F(AccessTest, OfSeveralAllocationsNoneIsNamed) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 32, .ideal = 4});
  name(kKernel, "_Z4stepPf");
  cuda_malloc(kA, kMiB);
  cuda_malloc(kB, kMiB);
  launch(kKernel, {kA});
  launch(kKernel, {kA, kB});
  run_access();
  EXPECT_EQ(labels(*find("uncoalesced")), "accessed here|first launched here");
  EXPECT_EQ(find("uncoalesced")->message.find("no other memory"), std::string::npos);
}

TEST_F(AccessTest, TablesScaleToAllLaunches) {
  access.windows({.put_off = 3});
  function("_Z4stepPf", 10, 5);
  add({.sectors = 32, .ideal = 4});
  add({.line = 11, .sectors = 4, .ideal = 4});
  add({.line = 12, .sectors = 1, .ideal = 4}); // a broadcast must not make up for others
  function("_Z5otherPf", 7, 1);
  add({.sectors = 5, .ideal = 4, .executions = 1000});
  access.function("_Z5neverPf", 10, 0);
  run_access();
  ASSERT_TRUE(result.process.accesses);
  const AccessTables& tables = *result.process.accesses;
  EXPECT_EQ(tables.moved_bytes, (37 * kWarps * 2 + 35'000) * 32);
  EXPECT_EQ(tables.wasted_bytes, (28 * kWarps * 2 + 7'000) * 32);
  EXPECT_EQ(tables.launches, 27u);
  EXPECT_EQ(tables.measured, 6u);
  EXPECT_EQ(tables.put_off, 3u);
  ASSERT_EQ(tables.lines.size(), 1u); // the other's share is too small to be a row
  EXPECT_EQ(tables.lines[0].line, 10u);
  EXPECT_DOUBLE_EQ(tables.lines[0].ratio(), 8);
  ASSERT_EQ(tables.kernels.size(), 2u);
  EXPECT_EQ(tables.kernels[0].kernel, "step(float*)");
  EXPECT_EQ(tables.kernels[0].launches, 10u);
  EXPECT_EQ(tables.kernels[0].measured, 5u);
  EXPECT_NEAR(tables.kernels[0].sectors_per_request(), 37.0 / 3, 1e-9);
  EXPECT_NEAR(tables.kernels[0].efficiency(), 9.0 / 37, 1e-9);
  EXPECT_EQ(tables.kernels[1].wasted_bytes, 7'000u * 32);
}

TEST_F(AccessTest, NothingIsSaidUnlessAskedFor) {
  trace.info.clear();
  name(kKernel, "_Z4stepPf");
  launch(kKernel);
  run_access();
  EXPECT_FALSE(result.process.accesses);
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(AccessTest, AskedForAndNothingCame) {
  run_access();
  EXPECT_TRUE(is_not_checked("memory accesses", "no kernel was launched"));
  name(kKernel, "_Z4stepPf");
  launch(kKernel);
  run_access();
  EXPECT_TRUE(is_not_checked("memory accesses", "no launch was measured"));
}

TEST_F(AccessTest, EveryTroubleIsReportedWithItsCure) {
  const auto reported = [this](const Windows& windows, const std::string& part) {
    access = {};
    access.windows(windows);
    run_access();
    return is_not_checked("memory accesses", part) &&
           !is_not_checked("memory accesses", "no kernel was launched");
  };
  EXPECT_TRUE(
    reported({.trouble = AccessTrouble::kNoLibrary}, "put its folder into LD_LIBRARY_PATH"));
  EXPECT_TRUE(
    reported({.trouble = AccessTrouble::kNotSupported, .code = 8}, "on this GPU (CUptiResult 8)"));
  EXPECT_TRUE(
    reported({.trouble = AccessTrouble::kBusy}, "another profiler holds CUPTI in this process"));
  EXPECT_TRUE(reported({.trouble = AccessTrouble::kNotPermitted, .code = 35},
                       "NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(reported({.trouble = AccessTrouble::kNotPermitted}, "ERR_NVGPUCTRPERM"));
  EXPECT_TRUE(reported({.trouble = AccessTrouble::kNotSupported, .code = 43},
                       "a part of a GPU (MIG): run on a whole one"));
  EXPECT_TRUE(reported({.trouble = AccessTrouble::kNotSupported, .code = 45},
                       "under WSL here: run on Linux itself"));
  EXPECT_TRUE(
    reported({.trouble = AccessTrouble::kNotPermitted, .code = 40}, "the hypervisor does not let"));
  EXPECT_TRUE(
    reported({.trouble = AccessTrouble::kError, .code = 999}, "CUPTI refused (CUptiResult 999)"));
  EXPECT_TRUE(reported({.trouble = AccessTrouble::kError, .launches = 90, .launches_read = 30},
                       "that came after 30 of 90 launches had been measured"));
  EXPECT_TRUE(
    reported({.opened = 3, .read = 2}, "launches were being measured when the process ended"));
  EXPECT_TRUE(reported({.opened = 3, .given_up = 2, .launches_given_up = 5},
                       "the figures of 5 measured launches are lost"));
}

TEST_F(AccessTest, WhatWasLeftOutToSaveTimeIsNamed) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  access.windows({.launches = 9, .measuring = kSecond, .elapsed = 3 * kSecond});
  access.times({.plain = kSecond / 5, .too_costly = 4});
  access.function("_Z4slowPf", 5, 0);
  access.times({.plain = 3 * kSecond});
  access.function("_Z4oncePf", 1, 0);
  access.times({.plain = kSecond / 100, .longest = kSecond, .more_shared = ~std::uint64_t{1}});
  function("_Z4stepPf", 2, 2);
  add({.sectors = 4, .ideal = 4});
  for (const auto& [handle, linked] :
       {std::pair{std::uint64_t{0xf2}, "_Z4slowPf"}, {std::uint64_t{0xf3}, "_Z4oncePf"}}) {
    name(handle, linked);
    launch(handle);
  }
  run_access();
  EXPECT_TRUE(is_not_checked("memory accesses",
                             "measuring a launch of slow(float*) would have taken longer than"));
  EXPECT_TRUE(is_not_checked("memory accesses", "one takes up to 0.2 s by itself"));
  EXPECT_TRUE(is_not_checked("memory accesses",
                             "do not say how long that takes were not measured: once(float*)"));
  EXPECT_TRUE(is_not_checked("bank-conflict",
                             "shared memory of step(float*) was not measured, to save time"));
  EXPECT_FALSE(is_not_checked("memory accesses", "more than it may take"));
}

TEST_F(AccessTest, ATraceThatHasNoTimesBlamesNone) {
  access.windows({});
  function("_Z4stepPf");
  add({.sectors = 4, .ideal = 4});
  access.function("_Z4oncePf", 1, 0);
  name(0xf3, "_Z4oncePf");
  launch(0xf3);
  name(kKernel, "_Z4stepPf");
  launch(kKernel);
  run_access();
  EXPECT_TRUE(
    is_not_checked("memory accesses", "of 1 kernel with 1 launch in all no launch was measured"));
}

TEST_F(AccessTest, MeasuringThatTookTooLongIsReported) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  // 2 s and 30 % of 10 s are allowed
  access.windows({.measuring = 9 * kSecond, .elapsed = 19 * kSecond});
  access.times({.plain = kSecond / 50, .longest = 4 * kSecond});
  function("_Z4stepPf");
  add({.sectors = 4, .ideal = 4});
  run_access();
  EXPECT_TRUE(is_not_checked(
    "memory accesses", "measuring took 9.0 s, which is 4.0 s more than it may take: a launch of "
                       "step(float*) took 4.0 s while it was measured, 200 times as long"));
  trace.info.emplace_back("option.coalescing_launches=all"); // then time is no limit
  run_access();
  EXPECT_FALSE(is_not_checked("memory accesses", "more than it may take"));
}

TEST_F(AccessTest, SharedMemoryIsScaledByItsOwnLaunches) {
  access.windows({.elapsed = 1});
  access.times({.more_shared = ~std::uint64_t{2}}); // three fewer than all that were measured
  function("_Z4stepPf", 20, 4);
  add({.sectors = 32, .ideal = 4, .wavefronts = 32, .ideal_wavefronts = 1});
  run_access();
  ASSERT_NE(find("bank-conflict"), nullptr);
  EXPECT_NE(find("bank-conflict")->message.find("measured in 1 of 20 launches"), std::string::npos)
    << find("bank-conflict")->message;
  EXPECT_NE(find("uncoalesced")->message.find("measured in 4 of 20 launches"), std::string::npos)
    << find("uncoalesced")->message;
}

TEST_F(AccessTest, AProfilerThatIsKnownIsNamed) {
  trace.modules = {"+\t1\t400000\t500000\t400000\tab\t/opt/nsys/target/libToolsInjection64.so"};
  access.windows({.trouble = AccessTrouble::kBusy});
  run_access();
  EXPECT_TRUE(is_not_checked("memory accesses", "Nsight Systems (nsys) holds CUPTI"));
}

TEST_F(AccessTest, WhatPassesTheCountersByIsReported) {
  access.windows({.graph_launches = 5, .unknown_graphs = 3, .graphs_in_windows = 1});
  function("_Z4stepPf");
  add({.sectors = 4, .ideal = 4});
  code_now().instructions.push_back({.offset = 64, .op = MemoryOp::kBulkCopy, .lines = {}});
  name(kKernel, "_Z4stepPf");
  name(0xf2, "_Z5otherPf");
  name(0xf3, "_Z8capturedPf");
  access.function("_Z8capturedPf", 0, 0, 0);
  launch(0xf3); // into a graph that is not launched
  launch(kKernel);
  launch(0xf2);
  launch(0xf2);
  run_access();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("memory accesses", "those of step(float*) are not in the figures"));
  EXPECT_TRUE(is_not_checked("memory accesses", "3 launches of graphs"));
  EXPECT_TRUE(is_not_checked("memory accesses", "what the program computed may be wrong"));
  EXPECT_TRUE(
    is_not_checked("memory accesses", "of 1 kernel with 2 launches in all no launch was measured"));
  name(0xf4, "_Z33ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  launch(0xf4);
  run_access();
  // It is not one of these
  EXPECT_TRUE(is_not_checked("memory accesses", "of 1 kernel with 2 launches"));
  EXPECT_TRUE(is_not_checked("memory accesses", "1 launch of NCCL's kernels"));
  trace.info.emplace_back("option.kernel=_Z4step"); // then the others were not meant
  run_access();
  EXPECT_FALSE(is_not_checked("memory accesses", "of 1 kernel"));
}

} // namespace
} // namespace gmt::test
