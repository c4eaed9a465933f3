// SPDX-License-Identifier: Apache-2.0
// Which records of a trace a walk over it lets go.

#include "analyzer/command/fold/fold_walk.h"
#include "analyzer/trace_reader/trace_dir.h"
#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

namespace fs = std::filesystem;
using Part = FoldPlan::Part;

class FoldedLaunches : public DeviceHeapTest {
protected:
  // Of some launches that are alike, behind which others come.
  std::uint64_t dropped() {
    constexpr std::uint64_t kLaunches = 40, kLast = 30;
    for (std::uint64_t i = 0; i < kLaunches; ++i) launch(kStep, 4, 64);
    trace.write(folder);
    Expected<TraceDir> opened = open_trace(folder);
    const TraceDir& found = *opened;
    FoldWalk walk(found, found.logs, kLast);
    while (walk.step()) {
    }
    EXPECT_TRUE(walk.is_whole());
    const FoldPlan plan = walk.finish();
    std::uint64_t sum = 0;
    for (std::uint64_t order = 0; order <= kLast; ++order)
      sum += plan.of(order) == Part::kDropped || plan.of(order) == Part::kNote ? 1 : 0;
    return sum;
  }

  const fs::path folder = directory.path() / "trace";
};

TEST_F(FoldedLaunches, AreDroppedButForTheFirstOnes) { EXPECT_GT(dropped(), 10U); }

// A leak in a kernel is reported with the launch that made it.
TEST_F(FoldedLaunches, StayWhereKernelsCallMalloc) {
  fs::create_directories(folder);
  device.grid(1, 4, 64);
  device.device_malloc({}, kP, 64);
  device.drained();
  device.write(folder);
  EXPECT_EQ(dropped(), 0U);
}

} // namespace
} // namespace gmt::test
