// SPDX-License-Identifier: Apache-2.0
// Launches that CUDA refused: the reason that the kernel's limits give.
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

// The driver is asked behind the launch; records of other threads may stand between.
class RefusedLaunches : public AnalysisTest {
protected:
  RefusedLaunches() { expect_only({"api-error"}); }
  static constexpr std::uint64_t kOrder = 77;
  void launch(std::uint16_t code, unsigned threads, unsigned grid_y = 1) {
    log().record({.api = "cuLaunchKernel", .result = code, .stack = {1}, .order = kOrder},
                 Made<trace::LaunchFields>()
                   .function(0x77)
                   .grid({1, grid_y & 0xffff, 1})
                   .block({threads, 1, 1}));
    limits_.launch(kOrder).grid_y(grid_y).grid_z(1).block_x(threads).block_y(1).block_z(1);
  }
  const ReportedFinding& only() {
    log().record({.order = kOrder}, limits_);
    return only_without_limits();
  }
  const ReportedFinding& only_without_limits() {
    run();
    EXPECT_EQ(kinds(), "api-error");
    return result.findings.at(0);
  }
  Made<trace::LaunchLimitsFields> limits_;
};

TEST_F(RefusedLaunches, ForTooMuchSharedMemory) {
  launch(1, 256);
  limits_.shared_bytes(65536).most_shared_bytes(49152);
  const ReportedFinding& f = only();
  EXPECT_EQ(f.message, "cuLaunchKernel failed with CUDA_ERROR_INVALID_VALUE (1): 65,536 bytes of "
                       "dynamic shared memory, where 49,152 are allowed without "
                       "cudaFuncSetAttribute.");
  EXPECT_NE(f.advice.find("cudaFuncAttributeMaxDynamicSharedMemorySize, 65536)"),
            std::string::npos);
}

TEST_F(RefusedLaunches, ForTooMuchBesideWhatTheKernelDeclares) {
  launch(1, 256);
  limits_.shared_bytes(49152).most_shared_bytes(48128).static_shared_bytes(1024);
  EXPECT_NE(only().message.find("49,152 bytes of dynamic shared memory, where 48,128 are allowed "
                                "without cudaFuncSetAttribute beside the 1,024 that the kernel "
                                "declares"),
            std::string::npos);
}

TEST_F(RefusedLaunches, ForTooManyThreadsOfThisKernel) {
  launch(701, 1024);
  limits_.most_threads(640).registers(96);
  const ReportedFinding& f = only();
  EXPECT_NE(f.message.find("a block of 1,024 threads, where this kernel may have 640, as each "
                           "takes 96 registers"),
            std::string::npos);
  EXPECT_NE(f.advice.find("__launch_bounds__(1024)"), std::string::npos);
}

TEST_F(RefusedLaunches, ForMoreThreadsThanTheKernelIsDeclaredFor) {
  launch(1, 512);
  limits_.most_threads(256).registers(10).most_shared_bytes(49152);
  EXPECT_NE(only().message.find("a block of 512 threads, where this kernel may have 256, as its "
                                "__launch_bounds__ say"),
            std::string::npos);
}

TEST_F(RefusedLaunches, ManyOfOneCallStackAreOneWithTheMomentOfTheFirst) {
  launch(1, 256);
  limits_.shared_bytes(65536).most_shared_bytes(49152);
  log().record({.order = kOrder}, limits_);
  for (unsigned i = 0; i < 5000; ++i)
    log().record({.api = "cuLaunchKernel", .result = 1, .stack = {1}, .order = kOrder + 1 + i},
                 Made<trace::LaunchFields>().function(0x77).grid({1, 1, 1}).block({256, 1, 1}));
  const ReportedFinding& f = only_without_limits();
  EXPECT_EQ(f.count, 5001u);
  EXPECT_NE(f.message.find("65,536 bytes of dynamic shared memory"), std::string::npos);
}

TEST_F(RefusedLaunches, ForExtentsThatTheirRecordHasNoRoomFor) {
  launch(1, 32, 70000);
  EXPECT_NE(only().message.find("the grid's extent y or z is 0 or more than 65,535"),
            std::string::npos);
}

TEST_F(RefusedLaunches, ForUnknownReasons) {
  launch(1, 256);
  limits_.shared_bytes(1024).most_shared_bytes(49152);
  EXPECT_NE(only().advice.find("Its extents are within the limits"), std::string::npos);
}

TEST_F(RefusedLaunches, OfTracesWithoutLimits) {
  launch(701, 1024);
  EXPECT_NE(
    only_without_limits().message.find("its registers, times the threads of a block, are more"),
    std::string::npos);
}

} // namespace
} // namespace gmt::test
