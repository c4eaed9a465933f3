// SPDX-License-Identifier: Apache-2.0
// Which launches --kernel-checks-sample has checked, and --checked-launches.
#include "interposer/kernel_checks/library/sampling.h"

#include <gtest/gtest.h>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/memory.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

std::uint64_t time_now = 0; // nanoseconds

struct KernelCheckSampling : testing::Test {
  void SetUp() override {
    settings = {};
    settings.samples = true;
    begin_made_up_driver();
    time_now = 1'000'000'000;
    set_sample_clock([]() noexcept { return time_now; });
  }
  void TearDown() override { settings = {}; }

  // Launches in turn for so long, a launch each 100 us; how many of each were checked.
  static void run(std::vector<Kernel*> kernels, unsigned milliseconds) {
    for (unsigned i = 0; i < 10 * milliseconds; ++i) {
      for (Kernel* kernel : kernels) {
        const bool is_checked = is_sampled(*kernel);
        if (!is_checked && !wants_measure(*kernel)) continue;
        const MeasuredLaunch measured(*kernel, nullptr, !is_checked);
        if (is_checked) kernel->launches.fetch_add(1);
      }
      time_now += 100'000;
    }
  }
};

TEST_F(KernelCheckSampling, ChecksTakeTwoInAHundredOfTheTime) {
  milliseconds_between = 1; // of which 0.62 ms may be for checks, with the host's part
  Kernel kernel;
  run({&kernel}, 10'000);
  EXPECT_EQ(kernel.offered.load(), 100'000u);
  const double spent = 0.62 * static_cast<double>(kernel.launches.load());
  EXPECT_LE(spent, 0.02 * 10'000 + 6); // and what short runs get
  EXPECT_GE(spent, 0.015 * 10'000);
}

TEST_F(KernelCheckSampling, ShortKernelsAreCheckedOften) {
  milliseconds_between = 0.001F;
  Kernel kernel;
  run({&kernel}, 1000);
  EXPECT_GE(kernel.launches.load(), 900u); // one between two looks, of which each millisecond has
                                           // one
}

// A kernel that comes late is seen, although another one takes all that may be spent.
TEST_F(KernelCheckSampling, WhatWasSeenLeastComesFirst) {
  milliseconds_between = 1;
  Kernel early, late;
  run({&early}, 2000);
  run({&early, &late}, 200);
  EXPECT_GE(late.launches.load(), 2u);
}

// However many launches the program makes before the device gets to them.
TEST_F(KernelCheckSampling, ALaunchThatIsNotMeasuredYetIsTheOnlyOne) {
  milliseconds_between = 0.1F;
  Kernel kernel;
  are_events_pending = true;
  run({&kernel}, 100);
  EXPECT_EQ(kernel.launches.load(), 0u); // a plain one is measured
  are_events_pending = false;
  run({&kernel}, 3);
  const std::uint64_t before = kernel.launches.load();
  EXPECT_GE(before, 1u);
  are_events_pending = true;
  run({&kernel}, 100);
  EXPECT_LE(kernel.launches.load(), before + 1);
}

// Its checks would take more than may be spent.
TEST_F(KernelCheckSampling, AKernelOfSecondsIsNotCheckedAtOnce) {
  milliseconds_between = 1000;
  Kernel kernel;
  run({&kernel}, 1000);
  EXPECT_EQ(kernel.launches.load(), 0u);
}

TEST_F(KernelCheckSampling, NodesOfGraphsRunAsTheyAre) {
  Kernel kernel;
  kernel.checked = found_by_name;
  EXPECT_EQ(why_plain_in_graph(kernel, &table(), {{1, 1, 1}, {1, 1, 1}, nullptr}),
            PlainReason::kSample);
}

TEST_F(KernelCheckSampling, TheFirstLaunchesOfAKernel) {
  settings = {};
  settings.launches = 2;
  begin_made_up_driver();
  Module module;
  module.slots[0].counts = 1; // it is ready
  Kernel kernel;
  kernel.module = &module;
  kernel.checked = found_by_name;
  kernel.launches = 1;
  EXPECT_NE(why_plain(kernel, &table()), PlainReason::kEnough);
  kernel.launches = 2;
  EXPECT_EQ(why_plain(kernel, &table()), PlainReason::kEnough);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
