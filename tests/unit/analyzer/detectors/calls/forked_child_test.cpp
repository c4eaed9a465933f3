// SPDX-License-Identifier: Apache-2.0
// api-error in a child of a process that used CUDA before it forked: CUDA answers nothing there.
#include <algorithm>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class ForkedChild : public AnalysisTest {
protected:
  ForkedChild() { expect_only({"api-error", "leak"}); }
  void note(const Call& call) { log().record(Kind::kNote, call, {0, 0, 0, 0}); }
};

TEST_F(ForkedChild, ThatUsesCudaIsOneMistake) {
  trace.info.push_back("forked_from=4200");
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .result = 3, .stack = {1}},
              MemoryKind::kDevice, 0, 64);
  note({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .result = 3, .stack = {2}});
  note({.api = "cuMemPoolTrimTo", .result = 1, .stack = {3}});
  run();
  ASSERT_EQ(kinds(), "api-error api-error");
  const auto of_fork = std::ranges::find_if(result.findings, [](const ReportedFinding& f) {
    return f.message.starts_with("CUDA was used");
  });
  ASSERT_NE(of_fork, result.findings.end());
  const ReportedFinding& f = *of_fork;
  EXPECT_EQ(f.message,
            "CUDA was used in a forked child: process 4200 had used CUDA before it forked this "
            "one, and cudaMalloc failed with cudaErrorInitializationError (3).");
  EXPECT_EQ(f.count, 2u);
  EXPECT_EQ(f.advice.find("Check the arguments"), std::string::npos);
}

// The runtime's exit handler unloads code, though the child made no call.
TEST_F(ForkedChild, ThatOnlyExitsMakesNoMistake) {
  trace.info.push_back("forked_from=4200");
  note({.api = "cuLibraryUnload", .result = 3, .stack = {1}});
  run();
  EXPECT_EQ(kinds(), "");
}

TEST_F(ForkedChild, OfAProcessWithoutCudaFailsAsAnyOther) {
  note({.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .result = 3, .stack = {2}});
  run();
  ASSERT_EQ(kinds(), "api-error");
  EXPECT_EQ(result.findings[0].message,
            "cudaDeviceSynchronize failed with cudaErrorInitializationError (3).");
}

} // namespace
} // namespace gmt::test
