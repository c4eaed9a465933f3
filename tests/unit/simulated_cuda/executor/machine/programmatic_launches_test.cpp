// SPDX-License-Identifier: Apache-2.0
// Races between a launch that lets the next one begin before it has ended and that one.
#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include "simulated_cuda/executor/machine/primary_launch.h"

namespace gmt::executor {
namespace {

const std::string kLetBegin = "griddepcontrol.launch_dependents;",
                  kWaitForPrimary = "griddepcontrol.wait;";
// %x2 is the thread's own word of an array, %x3 that of the same thread of the next block.
const std::string kStoreOwn = "st.global.u32 [%x2], %r2;", kLoadOwn = "ld.global.u32 %r5, [%x2];",
                  kLoadNeighbour = "ld.global.u32 %r6, [%x3];";

class ProgrammaticLaunchesTest : public KernelRunner {
protected:
  // Kernels of two blocks of 64 threads; `first` is one array, `second` another.
  void load_two(const std::string& primary, const std::string& secondary) {
    load(kernel("primary", primary) + kernel("secondary", secondary));
    first_ = put(std::vector<std::uint32_t>(4096));
  }
  static std::string kernel(const std::string& name, const std::string& statements) {
    return ".visible .entry " + name +
           "(.param .u64 p) {\n"
           ".reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %x<8>;\n"
           "ld.param.u64 %x0, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"
           "mad.lo.u32 %r2, %r1, 64, %r0; mad.wide.u32 %x2, %r2, 4, %x0;\n"
           "xor.b32 %r3, %r2, 64; mad.wide.u32 %x3, %r3, 4, %x0;\n"
           "setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0;\n" +
           statements + "\nret; }\n";
  }
  void launch(std::size_t kernel, bool programmatic) {
    const std::uint64_t parameters[] = {first_};
    Launch launch;
    launch.module = module_.get();
    launch.kernel = module_->find_kernel(module_->kernels()[kernel].name);
    launch.grid = {2};
    launch.block = {64};
    launch.parameters = std::as_bytes(std::span(parameters));
    launch.memory = &memory_;
    launch.workers = workers_;
    launch.seed = seed_;
    if (programmatic) launch.primary = last_;
    std::shared_ptr<PrimaryLaunch> next;
    launch.becomes_primary = &next;
    EXPECT_EQ(executor::run(launch, recorder_).end, End::kDone);
    last_ = next;
  }
  std::size_t races(const std::string& primary, const std::string& secondary,
                    bool programmatic = true) {
    load_two(primary, secondary);
    launch(0, false);
    recorder_.reports.clear();
    launch(1, programmatic);
    for (const Report& report : recorder_.reports) EXPECT_EQ(report.kind, ReportKind::kGlobalRace);
    return recorder_.reports.size();
  }
  void expect_silent(const std::string& primary, const std::string& secondary,
                     bool programmatic = true) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      for (const unsigned workers : {1u, 2u}) {
        seed_ = seed;
        workers_ = workers;
        EXPECT_EQ(races(primary, secondary, programmatic), 0u) << primary << " and " << secondary;
      }
    }
    seed_ = 0;
    workers_ = 1;
  }

  std::uint64_t first_ = 0;
  std::shared_ptr<const PrimaryLaunch> last_;
};

TEST_F(ProgrammaticLaunchesTest, WhatThePrimaryDoesBehindItsTriggerIsNotOver) {
  EXPECT_EQ(races(kLetBegin + kStoreOwn, kLoadOwn), 1u);
  EXPECT_EQ(races(kLetBegin + kStoreOwn, "st.global.u32 [%x2], 7;"), 1u); // other values
  EXPECT_EQ(races(kLetBegin + kLoadOwn, kStoreOwn), 1u);
  EXPECT_EQ(races(kLetBegin + kLoadOwn, kLoadOwn), 0u);
}

TEST_F(ProgrammaticLaunchesTest, BothLaunchesAreNamed) {
  EXPECT_EQ(races(kLetBegin + kStoreOwn, "@%p1 bra E; @%p0 ld.global.u32 %r6, [%x3];\nE:"), 1u);
  const Report& report = only();
  EXPECT_EQ(report.message, "primary 0 primary");
  EXPECT_EQ(report.location.function, "secondary");
  EXPECT_EQ(report.access, Access::kLoad);
  EXPECT_EQ(report.location.block.x, 1u);
  EXPECT_EQ(report.other.function, "primary");
  EXPECT_EQ(report.other_access, Access::kStore);
  EXPECT_EQ(report.other.block.x, 0u);
  EXPECT_EQ(report.other.thread.x, 0u);
  EXPECT_EQ(report.count, 1u);
}

TEST_F(ProgrammaticLaunchesTest, AWaitInFrontOfTheAccessOrdersIt) {
  expect_silent(kLetBegin + kStoreOwn, kWaitForPrimary + kLoadOwn + kStoreOwn);
  expect_silent(kLetBegin + kStoreOwn, "@%p0 " + kWaitForPrimary + "bar.sync 0;" + kLoadOwn);
  EXPECT_EQ(races(kLetBegin + kStoreOwn, kLoadOwn + kWaitForPrimary), 1u);
  // The one block waits, the other does not
  EXPECT_EQ(races(kLetBegin + kStoreOwn, "@!%p1 " + kWaitForPrimary + kLoadOwn), 1u);
}

TEST_F(ProgrammaticLaunchesTest, WithoutTheAttributeOrATriggerLaunchesAreOrdered) {
  expect_silent(kLetBegin + kStoreOwn, kLoadOwn, false);
  expect_silent(kStoreOwn, kLoadOwn);
  expect_silent(kStoreOwn, kStoreOwn);
}

// A trigger makes nothing visible; a fence in front of it does. Loads are over by then.
TEST_F(ProgrammaticLaunchesTest, AFenceInFrontOfTheTriggerMakesStoresVisible) {
  EXPECT_EQ(races(kStoreOwn + kLetBegin, kLoadOwn), 1u);
  expect_silent(kStoreOwn + "fence.acq_rel.gpu;" + kLetBegin, kLoadOwn);
  expect_silent(kLoadOwn + kLetBegin, kStoreOwn);
  expect_silent(kStoreOwn + "bar.sync 0; @%p0 fence.acq_rel.gpu; @%p0 " + kLetBegin, kLoadOwn);
}

TEST_F(ProgrammaticLaunchesTest, RacesWithinTheSecondaryAreFoundAsBefore) {
  EXPECT_EQ(races(kLetBegin + kStoreOwn, kWaitForPrimary + kStoreOwn + kLoadNeighbour), 1u);
  EXPECT_EQ(only().message, "");
  EXPECT_EQ(
    races(kLetBegin + kLoadOwn + kLoadNeighbour, kWaitForPrimary + kStoreOwn + kLoadNeighbour), 1u);
  EXPECT_EQ(races(kLetBegin + kLoadOwn, kLoadNeighbour + kWaitForPrimary + kStoreOwn), 1u);
}

TEST_F(ProgrammaticLaunchesTest, ALaunchBetweenOrAnEndOfTheModuleEndsIt) {
  load_two(kLetBegin + kStoreOwn, kLoadOwn);
  launch(0, false);
  const auto primary = last_;
  ASSERT_NE(primary, nullptr);
  launch(1, false);
  EXPECT_EQ(last_, nullptr); // it has no trigger
  last_ = primary;
  launch(1, true);
  expect_no_reports();
  load_two(kLetBegin + kStoreOwn, kLoadOwn);
  launch(0, false);
  const std::string kept = kernel("other", kLoadOwn);
  const std::uint64_t array = first_;
  load(kept);
  first_ = array;
  launch(0, true);
  expect_no_reports();
}

// Three launches, of which each lets the next begin: the last one may run beside the first.
TEST_F(ProgrammaticLaunchesTest, AChainThatNoBlockWaitsInIsOfLaunchesThatRunTogether) {
  const auto races_of_three = [&](const std::string& second, const std::string& third) {
    load(kernel("first", kLetBegin + kStoreOwn) + kernel("second", second) +
         kernel("third", third));
    first_ = put(std::vector<std::uint32_t>(4096));
    last_ = nullptr;
    launch(0, false);
    launch(1, true);
    recorder_.reports.clear();
    launch(2, true);
    return recorder_.reports.size();
  };
  EXPECT_EQ(races_of_three(kLetBegin, kLoadOwn), 1u);
  EXPECT_EQ(only().message, "further 0 first");
  EXPECT_EQ(only().other.function, "first");
  EXPECT_EQ(races_of_three(kLetBegin + kWaitForPrimary, kLoadOwn), 1u); // some time later
  EXPECT_EQ(races_of_three(kWaitForPrimary + kLetBegin, kLoadOwn), 0u);
  EXPECT_EQ(races_of_three("@!%p1 " + kWaitForPrimary + kLetBegin, kLoadOwn), 0u); // one block
  EXPECT_EQ(races_of_three(kLetBegin, kWaitForPrimary + kLoadOwn), 0u);
  EXPECT_EQ(races_of_three("", kLoadOwn), 0u); // it has ended when the third one begins
}

} // namespace
} // namespace gmt::executor
