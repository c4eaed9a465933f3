// SPDX-License-Identifier: Apache-2.0
// Random kernels that read behind their input: with checks they compute what they compute without,
// and what the code counts is what the executor reports.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_share.h"
#include "tests/unit/rewriter/support/checked_world.h"
#include "tests/unit/simulated_cuda/executor/support/random_kernel.h"

namespace gmt::rewriter {
namespace {

constexpr unsigned kKernels = 100, kThreads = 40, kInputBytes = 300;
constexpr std::uint64_t kOwnBytes = kThreads * executor::kRandomWords * 4;

using Counts = std::map<std::uint32_t, std::uint64_t>; // of mistakes, by line of PTX

struct Computed {
  std::vector<std::byte> bytes;
  Counts mistakes;
};

Computed run(test::World& world, const std::string& text, const Rewritten* rewritten,
             unsigned fuel) {
  Computed made;
  world.reset();
  const std::uint64_t own = world.block(kOwnBytes), input = world.block(kInputBytes);
  for (unsigned i = 0; i < kInputBytes; ++i) *world.at(input + i) = static_cast<std::byte>(i * 7);
  const std::string_view texts[] = {text};
  std::string error;
  const auto module = executor::Module::load(texts, &error);
  EXPECT_NE(module, nullptr) << error;
  if (module == nullptr) return made;
  world.add_variables(*module);
  const std::uint64_t parameters[] = {own, 0, fuel, input, 0};
  test::Listener listener;
  executor::Launch launch;
  launch.module = module.get();
  launch.kernel = module->find_kernel(rewritten != nullptr ? "__gmt_checked_k" : "k");
  EXPECT_NE(launch.kernel, nullptr);
  if (launch.kernel == nullptr) return made;
  launch.grid = {1};
  launch.block = {kThreads};
  launch.parameters = std::as_bytes(std::span(parameters)).first(launch.kernel->parameter_bytes);
  launch.memory = &world.memory;
  launch.checks = executor::Checks::kNone;
  EXPECT_EQ(executor::run(launch, listener).end, executor::End::kDone);
  made.bytes.assign(world.at(own), world.at(own) + kOwnBytes);
  if (rewritten != nullptr) {
    for (std::size_t i = 0; i < rewritten->sites.size(); ++i) {
      const std::uint64_t count = world.count(i, kOutOfBoundsCount);
      if (count != 0) made.mistakes[rewritten->sites[i].ptx_line] += count;
    }
  } else {
    for (const executor::Report& report : listener.reports)
      made.mistakes[report.location.ptx_line] += report.count;
  }
  return made;
}

class RandomKernels : public testing::TestWithParam<Bounds> {};

TEST_P(RandomKernels, ComputeAndReportTheSameWithChecks) {
  test::World world(GetParam());
  const unsigned kernels = kKernels / static_cast<unsigned>(gmt::test::one_in(4));
  unsigned with_mistakes = 0;
  for (unsigned seed = 0; seed < kernels; ++seed) {
    const std::string text = ".version 8.3\n.target sm_90\n.address_size 64\n" +
                             executor::RandomKernel(seed, kInputBytes).text();
    const Rewritten rewritten = rewrite(text, world.options);
    ASSERT_EQ(rewritten.kernels, std::vector<std::string>{"k"}) << text;
    const Computed plain = run(world, text, nullptr, 40 + seed);
    const Computed checked = run(world, rewritten.text, &rewritten, 40 + seed);
    with_mistakes += plain.mistakes.empty() ? 0 : 1;
    ASSERT_EQ(checked.bytes, plain.bytes) << "seed " << seed << "\n" << text;
    ASSERT_EQ(checked.mistakes, plain.mistakes) << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(with_mistakes, kernels / 4);
}

#ifdef GMT_DEFAULT_BOUNDS_ALONE
INSTANTIATE_TEST_SUITE_P(Bounds, RandomKernels, testing::Values(Bounds::kInLoops));
#else
INSTANTIATE_TEST_SUITE_P(Bounds, RandomKernels,
                         testing::Values(Bounds::kNever, Bounds::kInLoops, Bounds::kAlways));
#endif

} // namespace
} // namespace gmt::rewriter
