// SPDX-License-Identifier: Apache-2.0
// Every kernel of the torture set, as several compilers and options made it, can be executed.
#include "tests/unit/simulated_cuda/executor/support/ptx_fixtures.h"

#include "simulated_cuda/executor/executor.h"

#include <gtest/gtest.h>

#include <map>

namespace gmt::executor {
namespace {

TEST(Fixtures, AllKernelsCanBeExecuted) {
  std::map<std::string, std::string> reasons;
  int kernels = 0;
  for (const auto& path : ptx::test::fixtures()) {
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
  EXPECT_GT(kernels, 600);
}

// A thread of each kernel starts with its registers tracked: every form has its shadows.
TEST(Fixtures, AllKernelsCanBeTracked) {
  int kernels = 0;
  for (const auto& path : ptx::test::fixtures()) {
    const std::string text = ptx::test::read_fixture(path);
    const std::string_view texts[] = {text};
    std::string error;
    const auto module = Module::load(texts, &error);
    if (module == nullptr) continue; // linked of two
    for (const Kernel& kernel : module->kernels()) {
      if (!examine(*module, kernel).reason.empty()) continue;
      const std::vector<std::byte> parameters(kernel.parameter_bytes);
      Memory memory;
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
  EXPECT_GT(kernels, 600);
}

} // namespace
} // namespace gmt::executor
