// SPDX-License-Identifier: Apache-2.0
// A lane that parts from its warp and meets it again computes what it computes alone.
#include "tests/support/test_share.h"
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"
#include "tests/unit/simulated_cuda/executor/support/random_kernel.h"

namespace gmt::executor {
namespace {

constexpr unsigned kKernels = 150, kWords = kRandomWords;

class LanesAlone : public KernelRunner {};

TEST_F(LanesAlone, ComputeWhatTheyComputeInAWarp) {
  for (unsigned seed = 0; seed < kKernels / gmt::test::one_in(4); ++seed) {
    load(RandomKernel(seed).text());
    const unsigned threads = seed % 3 == 0 ? 70 : 32;
    seed_ = seed % 4; // of the order
    const std::uint64_t fuel = 40 + seed;
    const auto together = put(std::vector<std::uint32_t>(threads * kWords));
    const auto alone = put(std::vector<std::uint32_t>(threads * kWords));
    EXPECT_EQ(run({1}, {threads}, {together, 0, fuel, 0}).end, End::kDone);
    for (std::uint64_t i = 0; i < threads; ++i)
      EXPECT_EQ(run({1}, {1}, {alone, i, fuel, 0}).end, End::kDone);
    ASSERT_EQ(get<std::uint32_t>(together, threads * kWords),
              get<std::uint32_t>(alone, threads * kWords))
      << "seed " << seed << "\n"
      << RandomKernel(seed).text();
  }
  expect_no_reports();
}

} // namespace
} // namespace gmt::executor
