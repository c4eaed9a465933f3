// SPDX-License-Identifier: Apache-2.0
// What is said of the device heap after the ring lost records: only what no lost record can
// explain.

#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

using trace::DeviceOp;

class DeviceLoss : public DeviceHeapTest {
protected:
  void lose() {
    device.drained();
    device.drained(1, 5);
  }
};

TEST_F(DeviceLoss, AnotherBlockMayHaveTheAddressOfTheOneThatIsKnown) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kNewArray}, kP, 64);
  device.device_malloc({}, kP + 128, 64);
  device.device_malloc({.block = {1, 0, 0}}, kQ, 64);
  lose();
  device.device_free({.op = DeviceOp::kDelete}, kP); // new may have given it meanwhile
  device.device_free({}, kP + 144);                  // a smaller block
  device.device_free({.block = {2, 0, 0}}, kQ);      // or block 2 itself
  device.device_malloc({}, kP + 128, 32);            // over a block whose free was lost
  run_device();
  EXPECT_EQ(kinds(), "");
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "3 frees in kernels behind that loss"));
  EXPECT_FALSE(is_not_checked("in-kernel malloc and free", "replaced by a new one"));
}

TEST_F(DeviceLoss, WhatCameBeforeIsChecked) {
  run_kernel(kStep, 1);
  device.device_malloc({.op = DeviceOp::kNewArray}, kP, 64);
  device.device_free({.op = DeviceOp::kDelete}, kP);
  lose();
  run_device();
  EXPECT_EQ(kinds(), "device-heap-mismatched-free");
}

TEST_F(DeviceLoss, WhatSeemsAliveMakesNoHighWater) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 7 * kMiB);
  lose();
  run_device();
  EXPECT_EQ(kinds(), "");
}

TEST_F(DeviceLoss, MemoryOfTheHostsIsTheHostsAllTheSame) {
  constexpr std::uint64_t kNear = 0x302000000; // where cuMemMap may put it, beside the device heap
  cuda_malloc(kA, 4096);
  cuda_malloc(kNear, 4096);
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  lose();
  device.device_free({}, kA);
  device.device_free({.op = DeviceOp::kDelete}, kNear);
  cuda_free(kA);
  cuda_free(kNear);
  run_device();
  EXPECT_EQ(kinds(), "heap-mixed heap-mixed");
  EXPECT_FALSE(is_not_checked("in-kernel malloc and free", "behind that loss"));
}

TEST_F(DeviceLoss, NoLostRecordGaveOutWhatIsFarAway) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  lose();
  device.device_free({}, 0x7f0000000000);
  device.device_free({}, 0x12345670); // the heap may reach so far
  run_device();
  ASSERT_EQ(kinds(), "device-heap-invalid-free");
  EXPECT_EQ(result.findings[0].address, 0x7f0000000000u);
  EXPECT_TRUE(is_not_checked("in-kernel malloc and free", "1 free in kernels behind that loss"));
}

} // namespace
} // namespace gmt::test
