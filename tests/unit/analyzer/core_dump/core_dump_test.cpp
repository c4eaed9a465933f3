// SPDX-License-Identifier: Apache-2.0
// Core dumps that an H200 wrote (tests/fixtures/core_dumps): the instruction, its lines, the
// threads and their addresses, as far as each dump has them. Damaged ones must give nothing wrong.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <elf.h>
#include <random>

#include "analyzer/core_dump/core_dump.h"
#include "analyzer/core_dump/dump_tables.h"
#include "analyzer/trace_reader/core_dump_file.h"
#include "tests/support/test_share.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;
using Evidence = DumpFault::Evidence;

std::string bytes_of(const std::string& name) {
  return test::read_file(fs::path(GMT_CORE_DUMPS) / (name + ".core"));
}
CoreDump dump_of(const std::string& name) { return read_core_dump(bytes_of(name)); }

// What a report reads of the dump, later.
std::vector<CoreDump> written_and_read(const CoreDump& dump) {
  const test::TemporaryDirectory dir;
  test::write_file(dir.path() / "info", "");
  EXPECT_FALSE(write_core_dumps(dir.path(), {dump}));
  std::uint64_t damaged = 0;
  std::vector<CoreDump> read = parse_core_dumps(test::read_file(dir.path() / "core-dump"), damaged);
  EXPECT_EQ(damaged, 0u);
  return read;
}

// The only fault of the dump.
DumpFault fault_of(const std::string& name) {
  const CoreDump dump = dump_of(name);
  EXPECT_EQ(dump.problem, "");
  EXPECT_EQ(dump.device, "NVIDIA H200");
  EXPECT_EQ(dump.faults.size(), 1u);
  return dump.faults.empty() ? DumpFault{} : dump.faults.front();
}

// "store of 4 global bytes at faults.cu:8"
std::string words(const DumpFault& f) {
  const std::string file = f.lines.empty() ? "?" : f.lines.front().file;
  return f.operation + " of " + std::to_string(f.bytes) + " " + f.space + " bytes at " +
         file.substr(file.rfind('/') + 1) + ":" +
         std::to_string(f.lines.empty() ? 0 : f.lines.front().line);
}

std::uint64_t threads_with_address(const DumpFault& f) {
  std::uint64_t count = 0;
  for (const DumpLanes& run : f.addresses) count += run.count;
  return count;
}

TEST(CoreDump, LoadNamesItsWarpsInstruction) {
  const DumpFault f = fault_of("multiload");
  EXPECT_EQ(f.kernel, "_Z9multiloadPKfPfi");
  EXPECT_EQ(words(f), "load of 4 global bytes at faults.cu:6");
  EXPECT_EQ(f.evidence, Evidence::kWarp);
  EXPECT_EQ(f.exception, 14u);
  EXPECT_EQ(f.grid_id, 6u);
  EXPECT_EQ(f.grid, (Extents{4, 1, 1}));
  EXPECT_EQ(f.block, (Extents{64, 1, 1}));
  EXPECT_EQ(f.threads, 256u);
  // The load wrote the lower register of its address, which is computed again from the parameters.
  // Of each warp, 12 threads read 2^33 elements farther on.
  EXPECT_EQ(f.without_address, 0u);
  ASSERT_EQ(f.addresses.size(), 16u);
  const std::uint64_t p = f.addresses[0].address;
  EXPECT_EQ(p % (2 << 20), 0u); // cudaMalloc gave a page
  for (const DumpLanes& run : f.addresses) {
    const std::uint64_t i = run.block[0] * 64 + run.first_thread;
    const bool is_far = i % 32 == 20;
    EXPECT_EQ(run.count, is_far ? 12u : 20u);
    EXPECT_EQ(run.stride, 4);
    EXPECT_EQ(run.address, p + 4 * (i + (is_far ? std::uint64_t{1} << 33 : 0)));
  }
}

// The second of two loads wrote the upper register of its address, a sum with a carry.
TEST(CoreDump, UpperHalvesAreComputedAgain) {
  for (const char* name : {"twolines", "graph"}) {
    SCOPED_TRACE(name);
    const DumpFault f = fault_of(name);
    EXPECT_EQ(f.without_address, 0u);
    ASSERT_EQ(f.addresses.size(), 2u); // a run for each block
    for (const DumpLanes& run : f.addresses) {
      EXPECT_EQ(run.count, 32u);
      EXPECT_EQ(run.stride, 4);
      EXPECT_EQ(run.address % (2 << 20), 0u);
      EXPECT_EQ(run.address, f.addresses[0].address);
    }
  }
}

// A sum of uniform registers made the upper half. One thread adds for the warp.
TEST(CoreDump, AtomicsHaveTheAddressOfOneThread) {
  const DumpFault f = fault_of("badatomic");
  EXPECT_EQ(f.without_address, 31u);
  ASSERT_EQ(f.addresses.size(), 1u);
  EXPECT_EQ(f.addresses[0].first_thread, 31u);
  EXPECT_EQ(f.addresses[0].count, 1u);
  EXPECT_EQ(f.addresses[0].address, 0x7efdd3e00000 + (std::uint64_t{4} << 33));
}

// The upper halves cannot be computed without the parameters.
TEST(CoreDump, LowHalvesOfAddressesAreKept) {
  std::string bytes = bytes_of("twolines");
  const auto tables = DumpTables::open(bytes);
  ASSERT_TRUE(tables);
  const auto* grids = tables->below(DumpTable::kGrids, tables->first(DumpTable::kDevices), 0);
  ASSERT_NE(grids, nullptr);
  constexpr std::uint64_t kNowhere = 1 << 20; // where they begin in constant memory
  std::memcpy(bytes.data() + grids->offset + 48, &kNowhere, sizeof kNowhere);
  const CoreDump dump = read_core_dump(bytes);
  ASSERT_EQ(dump.faults.size(), 1u);
  const DumpFault& f = dump.faults[0];
  EXPECT_TRUE(f.addresses.empty());
  EXPECT_EQ(f.without_address, 64u);
  ASSERT_EQ(f.low_halves.size(), 2u); // a run for each block
  for (const DumpLanes& run : f.low_halves) {
    EXPECT_EQ(run.count, 32u);
    EXPECT_EQ(run.stride, 4);
    EXPECT_EQ(run.address, 0x99e00000u);
  }
  const std::vector<CoreDump> read = written_and_read(dump);
  ASSERT_EQ(read.size(), 1u);
  ASSERT_EQ(read[0].faults[0].low_halves.size(), 2u);
  EXPECT_EQ(read[0].faults[0].low_halves[1].address, 0x99e00000u);
}

TEST(CoreDump, StoreWithCodeBehindItHasAWarp) {
  const DumpFault f = fault_of("storethencode");
  EXPECT_EQ(words(f), "store of 4 global bytes at faults.cu:7");
  EXPECT_EQ(f.evidence, Evidence::kWarp);
}

// The lanes that stored have exited; the others' addresses are harmless ones.
TEST(CoreDump, DivergedWarpHasTheOtherBranchsAddresses) {
  const DumpFault f = fault_of("diverged");
  EXPECT_EQ(words(f), "store of 4 global bytes at faults.cu:8");
  EXPECT_EQ(f.warps, 2u);
  EXPECT_EQ(f.threads, 32u);
}

TEST(CoreDump, MisalignedStoreHasAllAddresses) {
  const DumpFault f = fault_of("misaligned");
  EXPECT_EQ(words(f), "store of 4 global bytes at faults.cu:9");
  EXPECT_EQ(f.exception, 6u);
  ASSERT_EQ(f.addresses.size(), 1u); // one run
  EXPECT_EQ(f.addresses[0].count, 32u);
  EXPECT_EQ(f.addresses[0].stride, 4);
  EXPECT_EQ(f.addresses[0].address % 4, 1u);
  EXPECT_EQ(f.only_block, (Extents{0, 0, 0}));
  EXPECT_FALSE(f.only_thread);
}

TEST(CoreDump, AssertStandsBehindItsCall) {
  const DumpFault f = fault_of("asserting");
  EXPECT_EQ(f.exception, DumpFault::kAssert);
  EXPECT_EQ(f.evidence, Evidence::kStopped);
  EXPECT_EQ(f.kernel, "_Z9assertingi");
  ASSERT_FALSE(f.lines.empty());
  EXPECT_EQ(f.lines[0].line, 10u);
  EXPECT_EQ(f.threads, 10u); // 0 to 4 of each of two blocks
  EXPECT_EQ(f.condition, "n < (int)threadIdx.x + 5 && \"too many\"");
  EXPECT_EQ(f.failed_block, (Extents{0, 0, 0}));
  EXPECT_EQ(f.failed_thread, (Extents{0, 0, 0}));
}

// In a warp whose other threads have passed the assert and go on.
TEST(CoreDump, ThreadsThatPassedAnAssertAreNone) {
  std::string bytes = bytes_of("asserting");
  constexpr std::uint64_t kBehindCall = 0x7fb33f7a0b60, kElsewhere = 0x7fb33f7a0a40;
  const std::string_view call(reinterpret_cast<const char*>(&kBehindCall), sizeof kBehindCall);
  const std::size_t first = bytes.find(call, 0x10000); // of block 0, in the table of its lanes
  ASSERT_NE(first, std::string::npos);
  bool is_lane = false;
  for (std::size_t at = first; at != std::string::npos; at = bytes.find(call, at + 1)) {
    std::uint32_t exception = 0;
    std::memcpy(&exception, bytes.data() + at + 32, sizeof exception);
    if (exception != DumpFault::kAssert) continue;
    std::memcpy(bytes.data() + at, &kElsewhere, sizeof kElsewhere);
    is_lane = true;
    break;
  }
  ASSERT_TRUE(is_lane);
  const CoreDump dump = read_core_dump(bytes);
  ASSERT_EQ(dump.faults.size(), 1u);
  const DumpFault& f = dump.faults[0];
  EXPECT_EQ(f.threads, 9u);
  EXPECT_EQ(f.lines[0].line, 10u);
  EXPECT_EQ(f.condition, "n < (int)threadIdx.x + 5 && \"too many\"");
  EXPECT_EQ(f.failed_block, (Extents{0, 0, 0}));
  EXPECT_EQ(f.failed_thread, (Extents{1, 0, 0}));
}

TEST(CoreDump, TrapIsABrokenWarp) {
  const DumpFault f = fault_of("trapping");
  EXPECT_EQ(f.exception, DumpFault::kNone);
  EXPECT_EQ(f.evidence, Evidence::kStopped);
  ASSERT_FALSE(f.lines.empty());
  EXPECT_EQ(f.lines[0].line, 11u);
  EXPECT_EQ(f.threads, 2u);
  EXPECT_EQ(f.offset, 0x40u);
}

TEST(CoreDump, OverflowingStackIsAStoreToLocalMemory) {
  const DumpFault f = fault_of("overflowing");
  EXPECT_EQ(f.kernel, "_Z11overflowingPii");
  EXPECT_EQ(f.function, "_Z7recursei");
  EXPECT_EQ(words(f), "store of 1 local bytes at faults.cu:12");
  EXPECT_EQ(f.only_thread, (Extents{0, 0, 0}));
}

TEST(CoreDump, SharedMemory) {
  const DumpFault f = fault_of("sharedbad");
  EXPECT_EQ(words(f), "store of 4 shared bytes at faults.cu:15");
  EXPECT_EQ(f.exception, 5u);
  ASSERT_EQ(f.addresses.size(), 1u);
  EXPECT_EQ(f.addresses[0].stride, 4);
}

TEST(CoreDump, SecondOfTwoLines) {
  EXPECT_EQ(words(fault_of("twolines")), "load of 4 global bytes at faults.cu:17");
}

TEST(CoreDump, KernelOfAGraph) {
  const DumpFault f = fault_of("graph");
  EXPECT_EQ(words(f), "load of 4 global bytes at faults.cu:17");
  EXPECT_EQ(f.grid_id, 7u);
}

TEST(CoreDump, InlinedFunctionsAreInnermostFirst) {
  const DumpFault f = fault_of("inlined");
  ASSERT_EQ(f.lines.size(), 3u);
  EXPECT_EQ(f.lines[0].line, 7u);
  EXPECT_EQ(f.lines[1].line, 10u);
  EXPECT_EQ(f.lines[2].line, 13u);
  EXPECT_EQ(f.lines[2].function, "_Z7inlinedIfEvPKT_PS0_");
}

TEST(CoreDump, TheThreadWhoseIndexIsWrongHasItsAddress) {
  const DumpFault f = fault_of("inlined");
  ASSERT_EQ(threads_with_address(f), 32u);
  const std::uint64_t p = f.addresses[0].address;
  for (const DumpLanes& run : f.addresses) {
    for (std::uint32_t i = 0; i < run.count; ++i) {
      const std::uint32_t thread = run.first_thread + i;
      EXPECT_EQ(run.address_of(i), p + 4 * (thread + (thread == 7 ? std::uint64_t{1} << 33 : 0)));
    }
  }
}

TEST(CoreDump, Atomic) {
  const DumpFault f = fault_of("badatomic");
  EXPECT_EQ(f.operation, "atomic");
  EXPECT_EQ(f.bytes, 4u);
}

TEST(CoreDump, FileOfTheTraceSaysTheSame) {
  for (const char* name :
       {"multiload", "badatomic", "diverged", "asserting", "trapping", "inlined"}) {
    const CoreDump dump = dump_of(name);
    const std::vector<CoreDump> read = written_and_read(dump);
    ASSERT_EQ(read.size(), 1u);
    ASSERT_EQ(read[0].faults.size(), dump.faults.size());
    const DumpFault &a = dump.faults[0], &b = read[0].faults[0];
    EXPECT_EQ(words(a), words(b));
    EXPECT_EQ(a.lines, b.lines);
    EXPECT_EQ(a.offset, b.offset);
    EXPECT_EQ(a.grid_id, b.grid_id);
    EXPECT_EQ(a.only_block, b.only_block);
    EXPECT_EQ(a.only_thread, b.only_thread);
    EXPECT_EQ(a.condition, b.condition);
    EXPECT_EQ(a.failed_block, b.failed_block);
    EXPECT_EQ(a.failed_thread, b.failed_thread);
    EXPECT_EQ(threads_with_address(a), threads_with_address(b));
  }
}

TEST(CoreDump, OtherFilesAreNone) {
  EXPECT_NE(read_core_dump({}).problem, "");
  EXPECT_NE(read_core_dump(std::string(4096, 'x')).problem, "");
}

TEST(CoreDump, CutOnesSaySo) {
  const std::string whole = bytes_of("multiload");
  for (const double share : {0.1, 0.5, 0.9, 0.999}) {
    const auto size = static_cast<std::size_t>(static_cast<double>(whole.size()) * share);
    EXPECT_NE(read_core_dump(std::span(whole).first(size)).problem, "") << size;
  }
}

TEST(CoreDump, DamagedOnesAreRead) {
  std::mt19937 random(1);
  for (const char* name : {"multiload", "asserting", "inlined"}) {
    const std::string whole = bytes_of(name);
    for (std::size_t round = 0; round < 60 / test::one_in(4); ++round) {
      std::string damaged = whole;
      for (int i = 0; i < 40; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      read_core_dump(damaged); // whatever it says: within bounds, and soon
    }
  }
}

// A header, and a table of processors without blocks that is repeated.
TEST(CoreDump, ManySectionsAreReadQuickly) {
  std::string whole = bytes_of("multiload");
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::string sections = whole.substr(header.e_shoff, std::size_t{header.e_shnum} * 64);
  const std::uint64_t kSections = 800'000 / test::one_in(8);
  while (sections.size() + header.e_shoff < whole.size()) whole.pop_back();
  Elf64_Shdr more{};
  more.sh_type = 0x80000005; // registers of no lane
  more.sh_link = 0xffffff;
  more.sh_offset = 64;
  more.sh_size = 56;
  more.sh_entsize = 4;
  for (std::uint64_t i = header.e_shnum; i < kSections; ++i) {
    more.sh_info = static_cast<std::uint32_t>(i * 2654435761u);
    whole.append(reinterpret_cast<const char*>(&more), sizeof more);
  }
  header.e_shnum = 0; // the count stands in the first section
  std::memcpy(whole.data(), &header, sizeof header);
  std::memcpy(whole.data() + header.e_shoff + 32, &kSections, sizeof kSections);
  const auto begin = std::chrono::steady_clock::now();
  const CoreDump dump = read_core_dump(whole);
  // A second; with sanitizers ten times that. To hold each against each other would take hours.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(2));
  ASSERT_EQ(dump.faults.size(), 1u);
  EXPECT_EQ(dump.faults[0].threads, 256u);
  EXPECT_EQ(dump.problem, "");
}

} // namespace
} // namespace gmt
