// SPDX-License-Identifier: Apache-2.0
// Every kernel of the torture set, as several compilers and options made it, can be executed.
#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include "simulated_cuda/executor/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace gmt::executor {
namespace {

TEST(Fixtures, AllKernelsCanBeExecuted) {
  std::map<std::string, std::string> reasons;
  std::size_t kernels = 0;
  for (const auto& path : ptx::test::fixtures_to_walk()) {
    if (path.filename().string().starts_with("separable")) continue; // it is linked of two
    const std::string text = ptx::test::read_fixture(path);
    const std::string_view texts[] = {text};
    std::string error;
    const auto module = Module::load(texts, &error);
    ASSERT_NE(module, nullptr) << path << ": " << error;
    for (const Kernel& kernel : module->kernels()) {
      ++kernels;
      const Ability ability = examine(*module, kernel);
      if (ability.reason.empty()) continue;
      ADD_FAILURE() << path.filename() << " " << kernel.name << ": " << ability.reason;
    }
  }
  EXPECT_GT(kernels, ptx::test::at_least(600));
}

// A thread of each kernel starts with its registers tracked: every form has its shadows.
TEST(Fixtures, AllKernelsCanBeTracked) {
  std::size_t kernels = 0;
  for (const auto& path : ptx::test::fixtures_to_walk()) {
    const std::string text = ptx::test::read_fixture(path);
    const std::string_view texts[] = {text};
    std::string error;
    const auto module = Module::load(texts, &error);
    if (module == nullptr) continue; // linked of two
    Memory memory;                   // its tables are large
    for (const Kernel& kernel : module->kernels()) {
      if (!examine(*module, kernel).reason.empty()) continue;
      const std::vector<std::byte> parameters(kernel.parameter_bytes);
      Observer observer;
      Launch launch;
      launch.module = module.get();
      launch.kernel = &kernel;
      launch.parameters = parameters;
      launch.memory = &memory;
      launch.limits.instructions = 1;
      launch.checks = Checks::kFull;
      const Outcome outcome = run(launch, observer);
      EXPECT_NE(outcome.end, End::kSkipped) << path << " " << kernel.name << outcome.reason;
      ++kernels;
    }
  }
  EXPECT_GT(kernels, ptx::test::at_least(600));
}

// CUB's sort loads one element behind the last run of each warp, and then does not choose it.
class SortOfWarps : public KernelRunner, public testing::WithParamInterface<Checks> {};

TEST_P(SortOfWarps, LoadsWhatItDoesNotUse) {
  for (const auto& path : ptx::test::fixtures()) {
    if (!path.filename().string().starts_with("cub_block.sm_90")) continue;
    load_whole(ptx::test::read_fixture(path));
  }
  ASSERT_NE(module_, nullptr);
  const auto& kernels = module_->kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [](const Kernel& kernel) {
    return kernel.name.find("warp_reduce_and_sort") != std::string::npos;
  });
  ASSERT_NE(found, kernels.end());
  kernel_ = static_cast<std::size_t>(found - kernels.begin());
  checks_ = GetParam();
  std::vector<std::int32_t> values(256);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<std::int32_t>(i * 89 % 256);
  const std::uint64_t data = put(values), most = allocate(16);
  EXPECT_EQ(run({1}, {128}, {data, most}).end, End::kDone);
  expect_no_reports();
  for (std::size_t warp = 0; warp < 4; ++warp) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(64 * warp);
    std::sort(begin, begin + 64);
    EXPECT_EQ(get<std::int32_t>(most, 4)[warp], *(begin + 63));
  }
  EXPECT_EQ(get<std::int32_t>(data, 256), values);
}

INSTANTIATE_TEST_SUITE_P(DefaultAndFull, SortOfWarps,
                         testing::Values(Checks::kDefault, Checks::kFull));

} // namespace
} // namespace gmt::executor
