// SPDX-License-Identifier: Apache-2.0
// Sectors and wavefronts of accesses whose figures are known by hand, and of kernels. What an H100
// counted for 345 patterns more is compared in tests/coalescing/test_simulated.py.
#include "simulated_cuda/executor/machine/count_traffic.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <functional>

namespace gmt::executor {
namespace {

using Element = std::function<std::uint64_t(std::uint64_t lane)>;

// Each lane of `mask` at the element that the function names.
TrafficCounts counted(bool shared, std::uint32_t bytes, Together together, const Element& element,
                      std::uint32_t mask = ~0u) {
  std::uint64_t addresses[kLanes];
  for (std::uint64_t lane = 0; lane < kLanes; ++lane) addresses[lane] = element(lane) * bytes;
  TrafficCounts counts;
  if (shared) count_wavefronts(addresses, mask, bytes, together, counts);
  else count_sectors(addresses, mask, bytes, counts);
  return counts;
}

void expect_sectors(std::uint32_t bytes, std::uint64_t sectors, std::uint64_t ideal,
                    const Element& element, std::uint32_t mask = ~0u) {
  const TrafficCounts counts = counted(false, bytes, Together::kLoad, element, mask);
  EXPECT_EQ(counts.sectors, sectors);
  EXPECT_EQ(counts.ideal_sectors, ideal);
}

void expect_turns(std::uint32_t bytes, Together together, std::uint64_t turns, std::uint64_t ideal,
                  const Element& element) {
  const TrafficCounts counts = counted(true, bytes, together, element);
  EXPECT_EQ(counts.wavefronts, turns);
  EXPECT_EQ(counts.ideal_wavefronts, ideal);
}

TEST(Traffic, SectorsOfAWarp) {
  expect_sectors(4, 4, 4, [](auto i) { return i; });
  expect_sectors(4, 8, 4, [](auto i) { return 2 * i; });          // a stride of two
  expect_sectors(4, 32, 4, [](auto i) { return 8 * i; });         // structures of 32 bytes
  expect_sectors(4, 32, 4, [](auto i) { return 4096 * i; });      // down a column
  expect_sectors(4, 5, 4, [](auto i) { return i + 1; });          // one element off
  expect_sectors(4, 1, 1, [](auto) { return 7; });                // all the same
  expect_sectors(4, 2, 2, [](auto i) { return i / 16 * 64; });    // halves the same
  expect_sectors(4, 7, 4, [](auto i) { return i * i % 32 * 8; }); // a gather of seven
  expect_sectors(16, 16, 16, [](auto i) { return i; });
  expect_sectors(1, 1, 1, [](auto i) { return i; });
  expect_sectors(4, 1, 1, [](auto i) { return i; }, 0xff);
  expect_sectors(4, 2, 1, [](auto i) { return i; }, 0x00000180); // two lanes, on either side
}

TEST(Traffic, TurnsOfSharedMemory) {
  const auto load = Together::kLoad, store = Together::kStore, atomic = Together::kAtomic;
  expect_turns(4, load, 1, 1, [](auto i) { return i; });
  expect_turns(4, load, 32, 1, [](auto i) { return i * 32; }); // a column of tile[32][32]
  expect_turns(4, load, 1, 1, [](auto i) { return i * 33; });  // of tile[32][33]
  expect_turns(4, load, 2, 1, [](auto i) { return i * 2; });
  expect_turns(4, load, 1, 1, [](auto) { return 3; });
  expect_turns(1, load, 1, 1, [](auto i) { return i * 4; });
  expect_turns(8, store, 2, 2, [](auto i) { return i; });
  expect_turns(8, store, 2, 2, [](auto) { return 0; });
  expect_turns(8, load, 1, 1, [](auto i) { return i / 2; });
  expect_turns(8, load, 2, 2, [](auto i) { return i % 8; });
  expect_turns(16, load, 4, 4, [](auto i) { return i; });
  expect_turns(16, load, 2, 2, [](auto i) { return i / 2; });
  expect_turns(16, load, 16, 4, [](auto i) { return i * 4; });
  expect_turns(4, atomic, 32, 1, [](auto) { return 3; }); // one after the other
  expect_turns(4, atomic, 2, 1, [](auto i) { return i / 2; });
  expect_turns(16, Together::kRows, 4, 4, [](auto) { return 0; });
}

class TrafficTest : public KernelRunner {
protected:
  TrafficTest() { traffic_ = &counted_; }
  const InstructionTraffic& only_counted() {
    const InstructionTraffic* found = nullptr;
    for (const InstructionTraffic& one : counted_.functions.at(0).instructions) {
      if (one.counts.executions == 0) continue;
      EXPECT_EQ(found, nullptr);
      found = &one;
    }
    EXPECT_NE(found, nullptr);
    static const InstructionTraffic none;
    return found != nullptr ? *found : none;
  }
  Traffic counted_;
};

constexpr const char* kBegin =
  ".shared .align 16 .b8 s[4096];\n"
  ".visible .entry k(.param .u64 p) { .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %x<8>;\n"
  "ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 40;\n"
  "mul.wide.u32 %x1, %r0, 8; add.u64 %x2, %x0, %x1; cvta.shared.u64 %x3, s;\n";

TEST_F(TrafficTest, OnlyLanesWhoseGuardHolds) {
  load(std::string(kBegin) + "@%p0 ld.global.u32 %r1, [%x2+4]; ret; }\n");
  const std::uint64_t p = put(std::vector<std::uint32_t>(256, 1));
  for (workers_ = 1; workers_ <= 2; ++workers_) {
    counted_ = {};
    run({6}, {64}, {p});
    const InstructionTraffic& one = only_counted();
    EXPECT_EQ(one.counts.executions, 12u);
    EXPECT_EQ(one.counts.threads, 240u);
    EXPECT_EQ(one.counts.sectors, 6u * (8 + 2));
    EXPECT_EQ(one.counts.ideal_sectors, 6u * (4 + 1));
    EXPECT_EQ(one.bytes, 4u);
    EXPECT_EQ(one.offset, 4);
    EXPECT_EQ(one.access, Access::kLoad);
    EXPECT_EQ(one.space, Space::kGlobal);
  }
}

// Registers are tracked from a load of what nothing wrote on.
TEST_F(TrafficTest, WarpsThatTrackTheirRegisters) {
  load(std::string(kBegin) + "ld.global.u32 %r1, [%x2]; ret; }\n");
  const std::uint64_t p = allocate(1024);
  for (const Checks checks : {Checks::kNone, Checks::kDefault, Checks::kFull}) {
    checks_ = checks;
    counted_ = {};
    run({1}, {64}, {p});
    EXPECT_EQ(only_counted().counts.sectors, 16u);
  }
}

TEST_F(TrafficTest, GenericAddressesOfSharedMemory) {
  load(std::string(kBegin) + "add.u64 %x3, %x3, %x1; st.u32 [%x3], %r0; ret; }\n");
  run({1}, {32}, {0});
  EXPECT_EQ(only_counted().counts.wavefronts, 2u);
  EXPECT_EQ(only_counted().counts.sectors, 0u);
  EXPECT_EQ(only_counted().space, Space::kGeneric);
}

TEST_F(TrafficTest, NothingWhereItIsNotAskedFor) {
  load(std::string(kBegin) + "ld.global.u32 %r1, [%x2]; ret; }\n");
  const std::uint64_t p = put(std::vector<std::uint32_t>(256, 1));
  traffic_ = nullptr;
  EXPECT_EQ(run({1}, {32}, {p}).end, End::kDone);
  EXPECT_TRUE(counted_.functions.empty());
}

} // namespace
} // namespace gmt::executor
