// SPDX-License-Identifier: Apache-2.0
// Findings of a source line that several kernels share: a helper function, or new and delete, whose
// lines are not known. Each kernel has its own finding, which counts all of its launches.

#include <set>
#include <string>

#include "analyzer/base/text_format.h"
#include "analyzer/device_heap/device_heap.h"
#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

using trace::DeviceOp;

class SharedSourceLine : public DeviceHeapTest {
protected:
  static constexpr std::uint32_t kHelper = 3;
  // "2: text" of each finding, in the order of its messages.
  std::string reported(std::string_view from, std::string_view to) {
    std::set<std::string> all;
    for (const ReportedFinding& f : run_device().findings) {
      const std::size_t begin = f.message.find(from) + from.size();
      all.insert(cat({std::to_string(f.count), ": ",
                      f.message.substr(begin, f.message.find(to, begin) - begin)}));
    }
    std::string text;
    for (const std::string& each : all) text += each + "\n";
    return text;
  }
};

TEST_F(SharedSourceLine, NewThatGotNullIsReportedForEachKernel) {
  for (std::uint64_t grid = 1; grid <= 3; ++grid) {
    run_kernel(grid == 2 ? kClean : kStep, grid, 0x400); // all from one line of the host's
    device.device_malloc({.grid = grid, .site = 0, .op = DeviceOp::kNew}, 0, 9 * kMiB);
  }
  EXPECT_EQ(reported("", ":"), "1: new of 9.0 MiB in void ns\n"
                               "2: new of 9.0 MiB in step(int*) got NULL (the first of 2 times)\n");
  EXPECT_EQ(kinds(), "device-heap-exhausted device-heap-exhausted");
}

TEST_F(SharedSourceLine, MistakesOfAHelperAreReportedForEachKernel) {
  for (std::uint64_t grid = 1; grid <= 3; ++grid) {
    run_kernel(grid == 2 ? kClean : kStep, grid, 0x400);
    device.device_malloc({.grid = grid, .site = kHelper, .op = DeviceOp::kNewArray}, kP, 64);
    device.device_free({.grid = grid, .site = kHelper, .op = DeviceOp::kDelete}, kP);
  }
  EXPECT_EQ(reported("delete in ", " of"), "1: void ns::clean<int>(int*)\n2: step(int*)\n");
  EXPECT_EQ(kinds(), "device-heap-mismatched-free device-heap-mismatched-free");
}

// The first pair is ordered by the legacy stream, the second by nothing.
TEST_F(SharedSourceLine, APairInOrderDoesNotStandForOneInNone) {
  log().record({.api = "cuStreamCreate"},
               Made<trace::LifeFields>()
                 .handle(0x77)
                 .object(trace::ObjectClass::kStream)
                 .op(trace::LifeOp::kCreate)
                 .flags(1)); // non-blocking
  for (std::uint64_t grid = 1; grid <= 5; grid += 2) {
    run_kernel(kStep, grid);
    device.device_malloc({.grid = grid}, kP, 64);
    run_kernel(kClean, grid + 1, 0x400, grid == 1 ? 0 : 0x77);
    device.device_free({.grid = grid + 1, .site = 2}, kP);
  }
  EXPECT_EQ(reported("", "allocated"), "2: 2 blocks of the device heap \n");
  EXPECT_EQ(kinds(), "device-heap-freed-elsewhere");
}

// Kernels are not known here, so that all grids are one function's.
TEST_F(SharedSourceLine, NoneOfVeryManyIsLost) {
  constexpr std::uint64_t kGrids = DeviceHeap::kMaxGroups + 50;
  for (std::uint64_t grid = 1; grid <= kGrids; ++grid) {
    device.device_malloc({.grid = grid}, kP, 64);
    device.device_free({.grid = grid}, kP);
    device.device_free({.grid = grid}, kP);
    device.device_malloc({.grid = grid}, 0, 9 * kMiB);
  }
  run_device();
  ASSERT_EQ(kinds(), "device-heap-double-free device-heap-exhausted");
  EXPECT_EQ(result.findings[0].count, kGrids);
  EXPECT_EQ(result.findings[1].count, kGrids);
}

} // namespace
} // namespace gmt::test
