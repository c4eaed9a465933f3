// SPDX-License-Identifier: Apache-2.0
// How records of kernels are read: order, losses, damage, what is left in a ring.

#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

TEST_F(DeviceHeapTest, RecordsOfSubRingsAreOrderedByTheDevicesClock) {
  run_kernel(kStep, 1);
  const std::uint64_t t = 1'800'000'000'000'000'000;
  // One SM's records were read before those of the other, where the block was allocated and
  // allocated again.
  device.device_free({.time = t + 64, .sub_ring = 1}, kP);
  device.device_free({.time = t + 192, .sub_ring = 1}, kP);
  device.device_malloc({.time = t + 32, .sub_ring = 0}, kP, 64);
  device.device_malloc({.time = t + 128, .sub_ring = 0}, kP, 64);
  run_device();
  EXPECT_EQ(kinds(), "");
}

TEST_F(DeviceHeapTest, AtOneTimeWhatIsPossibleCameFirst) {
  run_kernel(kStep, 1);
  const std::uint64_t t = 1'800'000'000'000'000'000;
  device.device_malloc({.time = t, .sub_ring = 3}, kP, 64);
  device.device_free({.time = t, .sub_ring = 2}, kP); // of the new block
  device.device_malloc({.time = t + 32, .sub_ring = 1}, kP, 64);
  // At the address of the one freed then
  device.device_malloc({.time = t + 64, .sub_ring = 1}, kP, 64);
  device.device_free({.time = t + 64, .sub_ring = 2}, kP);
  device.device_free({.time = t + 96}, kP);
  run_device();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(DeviceHeapTest, ALongLogIsReadInWindows) {
  run_kernel(kStep, 1);
  std::uint64_t t = 1'800'000'000'000'000'000;
  for (unsigned round = 0; round < 100; ++round) {
    for (unsigned i = 0; i < 1000; ++i) {
      const std::uint64_t at = kP + i * 64;
      // Read before the allocation
      device.device_free({.time = t + 500'000 + i, .sub_ring = 1}, at);
      device.device_malloc({.time = t + i, .sub_ring = 0}, at, 64);
    }
    device.drained();
    t += 1'000'000;
  }
  run_device();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(result.not_checked.empty());
}

TEST_F(DeviceHeapTest, LossesAreReportedAndForgiveFreesBehindThem) {
  run_kernel(kStep, 1);
  const std::uint64_t t = 1'800'000'000'000'000'000;
  device.device_malloc({.time = t}, kP, 64);
  device.device_free({.time = t + 100}, kP);
  device.device_free({.time = t + 200}, kP); // surely twice
  device.drained();
  device.device_malloc({.time = t + 300}, kQ, 64);
  device.drained(1, 5, 2);
  device.device_free({.time = t + 400}, kP); // its malloc may be lost
  device.drained(1, 7);
  run_device();
  ASSERT_NE(find("device-heap-double-free"), nullptr);
  EXPECT_EQ(find("device-heap-double-free")->count, 1u);
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "7 records of malloc or free"));
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "1 free in kernels behind that loss"));
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free",
                             "2 records of malloc or free in kernels never finished"));
  EXPECT_EQ(result.process.lost.at("ring of device records full"), 7u);
  EXPECT_EQ(find("device-heap-leak"), nullptr); // the free of kQ may be among what was lost
  EXPECT_TRUE(is_not_checked("device-heap-leak", "the ring was full"));
}

TEST_F(DeviceHeapTest, WhatADeadProcessLeftInItsRingIsRead) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP);
  device.torn();
  const std::size_t drained = device.size();
  std::filesystem::create_directories(directory.path() / "trace");
  device.write(directory.path() / "trace"); // moved to the log, but not taken out of the ring
  device.device_free({}, kP);
  ASSERT_GT(device.size(), drained);
  device.write_ring(directory.path() / "trace", 1, 0);
  run();
  ASSERT_NE(find("device-heap-double-free"), nullptr);
  EXPECT_EQ(find("device-heap-double-free")->count, 1u);
  EXPECT_EQ(labels(*find("device-heap-double-free")),
            "freed again here|launched here|first freed here|allocated here");
}

TEST_F(DeviceHeapTest, DamageIsCountedAndSkipped) {
  run_kernel(kStep, 1);
  trace::Slot bad{};
  // Two more slots that are not there
  bad.head = trace::pack({Kind::kDeviceAlloc, 3, trace::kNoApi, 1, 0});
  device.slot(bad);
  bad.head = trace::pack({Kind::kMore, 1, trace::kNoApi, 0, 0});
  device.slot(bad);
  device.device_malloc({}, kP, 64);
  run_device();
  EXPECT_NE(find("device-heap-leak"), nullptr);
  EXPECT_EQ(result.process.damaged, 1u);
  write_file(directory.path() / "trace" / "device-0.log", "short");
  run();
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "shorter than its header"));
}

} // namespace
} // namespace gmt::test
