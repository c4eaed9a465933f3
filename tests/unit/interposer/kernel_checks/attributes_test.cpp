// SPDX-License-Identifier: Apache-2.0
// What is asked of a kernel is answered for the form of which less fits.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

const auto kPlain = reinterpret_cast<CUfunction>(0x9000); // NOLINT: a handle
constexpr auto kThreads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;

struct KernelCheckAttributes : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    fitting[kPlain] = 8;
    attributes[{kPlain, kThreads}] = 1024;
  }

  static void load(const std::string& checked_kernel,
                   std::vector<rewriter::Unchecked> unchecked = {}) {
    auto module = std::make_unique<Module>();
    module->code.unchecked = std::move(unchecked);
    module->code.kernels = {checked_kernel};
    module->code.launch_parameters.resize(1);
    keep_module(std::move(module), module_of_all);
  }
  static int blocks() {
    int value = 0;
    EXPECT_EQ(call_replaced("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, kPlain, 128,
                            std::size_t{0}),
              CUDA_SUCCESS);
    return value;
  }
  static std::pair<int, int> best() {
    int grid = 0, block = 0;
    const CUoccupancyB2DSize none = nullptr;
    EXPECT_EQ(call_replaced("cuOccupancyMaxPotentialBlockSize", &grid, &block, kPlain, none,
                            std::size_t{0}, 0),
              CUDA_SUCCESS);
    return {grid, block};
  }
  static int threads() {
    int value = 0;
    EXPECT_EQ(call_replaced("cuFuncGetAttribute", &value, kThreads, kPlain), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(KernelCheckAttributes, OfTheCheckedFormIfThatIsLess) {
  load("k");
  fitting[found_by_name] = 3;
  attributes[{found_by_name, kThreads}] = 640;
  EXPECT_EQ(blocks(), 3);
  EXPECT_EQ(best(), std::pair(30, 3));
  EXPECT_EQ(threads(), 640);
}

TEST_F(KernelCheckAttributes, AKernelIsNamedOnceForEachPartThatHasNoChecks) {
  load("k", {{"k", "textures"}, {"k", "copies in bulk"}, {"k", "textures"}, {"other", "surfaces"}});
  threads();
  threads();
  ASSERT_EQ(reported.plain.size(), 2u);
  for (const auto& one : reported.plain) EXPECT_EQ(one.kernel, "k");
  EXPECT_EQ(reported.plain[0].reason, "textures");
  EXPECT_EQ(reported.plain[1].reason, "copies in bulk");
  EXPECT_EQ(reported.plain[0].launches, 0u);
}

TEST_F(KernelCheckAttributes, OfThePlainFormIfThatIsLess) {
  load("k");
  fitting[found_by_name] = 9;
  attributes[{found_by_name, kThreads}] = 2048;
  EXPECT_EQ(blocks(), 8);
  EXPECT_EQ(best(), std::pair(80, 8));
  EXPECT_EQ(threads(), 1024);
}

// Its launches are plain then.
TEST_F(KernelCheckAttributes, AFormThatFitsNowhereDoesNotCount) {
  load("k");
  EXPECT_EQ(blocks(), 8);
  EXPECT_EQ(best(), std::pair(80, 8));
  EXPECT_EQ(threads(), 1024);
}

TEST_F(KernelCheckAttributes, WithoutACheckedFormTheDriversAnswerStays) {
  load("other");
  fitting[found_by_name] = 3;
  EXPECT_EQ(blocks(), 8);
  EXPECT_EQ(best(), std::pair(80, 8));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
