// SPDX-License-Identifier: Apache-2.0
// What kernels counted and recorded becomes faults: which launch, how often, and what is left for
// the next time. The kernels are the test.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/reports.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

constexpr std::uint64_t kAddress = 0x7f0000001000;

struct KernelCheckReports : testing::Test {
  void SetUp() override {
    begin_made_up_driver();
    ASSERT_TRUE(has_table());
    auto made = std::make_unique<Module>();
    made->code.kernels = {"kernel"};
    made->code.sites.resize(2);
    made->code.sites[0].function = made->code.sites[1].function = "kernel";
    ModuleSlot& slot = made->slots[0];
    slot.counted.assign(2 * rewriter::kCountKinds, 0);
    slot.recorded = slot.counted;
    slot.last.resize(2 * rewriter::kCountKinds);
    slot.counts = reinterpret_cast<CUdeviceptr>(counts);
    slot.records = reinterpret_cast<CUdeviceptr>(records);
    slot.used = reinterpret_cast<CUdeviceptr>(&used);
    kernel.module = made.get();
    keep_module(std::move(made), reinterpret_cast<CUmodule>(0x3000));
  }

  std::uint64_t launch(std::uint64_t call) {
    Launch launch;
    launch.call = call;
    launch.module = kernel.module;
    launch.kernel = "kernel";
    launch.grid[0] = 2, launch.grid[1] = launch.grid[2] = 1;
    launch.block[0] = 32, launch.block[1] = launch.block[2] = 1;
    const std::uint64_t number = remember_launch(launch);
    mark_launched(kernel, table());
    return number;
  }

  // A thread of the launch makes a mistake.
  void mistake(std::uint64_t launch, std::uint32_t site = 0, std::int32_t entry = -1,
               std::uint32_t thread = 3) {
    ++counts[rewriter::kCountKinds * site];
    rewriter::Record& record = records[used++];
    record.site = site;
    record.entry = entry;
    record.address = kAddress;
    record.thread[0] = thread;
    record.launch = launch;
    record.is_whole = 1;
  }

  std::uint64_t counts[2 * rewriter::kCountKinds] = {};
  rewriter::Record records[80] = {};
  std::uint32_t used = 0;
  Kernel kernel;
};

TEST_F(KernelCheckReports, OneFaultForEachLaunchWithTheFirstThread) {
  const std::uint64_t first = launch(11);
  mistake(launch(12));
  mistake(first, 0, -1, 5);
  mistake(first, 0, -1, 6);
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[1].call, 11u);
  EXPECT_EQ(reported.faults[1].count, 2u);
  EXPECT_EQ(reported.faults[1].thread, 5u);
  EXPECT_EQ(reported.faults[1].address, kAddress);
  EXPECT_EQ(reported.faults[1].kernel, "kernel");
  EXPECT_EQ(reported.faults[1].kind, trace::ExecutionReport::kOutOfBounds);
  EXPECT_EQ(reported.faults[0].call, 12u);
  EXPECT_EQ(reported.faults[0].count, 1u);
  fetch_reports(launch_count());
  EXPECT_EQ(reported.faults.size(), 2u); // each is reported once
}

TEST_F(KernelCheckReports, AMistakeWhoseRecordComesLaterIsOfItsLaunch) {
  mistake(launch(11));
  mistake(launch(12));
  records[1].is_whole = 0;
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].count, 1u);
  records[1].is_whole = 1;
  mistake(launch(13));
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 3u);
  EXPECT_EQ(reported.faults[1].call, 12u);
  EXPECT_EQ(reported.faults[1].count, 1u);
  EXPECT_EQ(reported.faults[2].call, 13u);
}

// Behind the last time nothing comes.
TEST_F(KernelCheckReports, AMistakeWithoutItsRecordCountsAtLast) {
  mistake(launch(11));
  mistake(launch(12));
  records[1].is_whole = 0;
  fetch_last_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].count, 2u);
}

// In whatever order they came.
TEST_F(KernelCheckReports, TheFirstThreadOfTheFirstBlockIsNamed) {
  const std::uint64_t number = launch(11);
  for (const std::uint32_t thread : {9u, 4u, 7u, 2u}) mistake(number, 0, -1, thread);
  records[3].block[0] = 1;
  records[1].thread[1] = 1;
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].thread, 7u);
  EXPECT_EQ(reported.faults[0].count, 4u);
}

TEST_F(KernelCheckReports, TheEntrySaysWhatItIs) {
  mistake(launch(11), 0, rewriter::kFreedEntry);
  records[used] = records[0];
  records[used++].kind = rewriter::kMisalignedCount;
  ++counts[1];
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[0].kind, trace::ExecutionReport::kUseAfterFree);
  EXPECT_EQ(reported.faults[1].kind, trace::ExecutionReport::kMisaligned);
}

// What was fetched before is not reported again, nor is what other modules recorded.
TEST_F(KernelCheckReports, BehindAFaultTheCopiesOfRecordsAreReported) {
  has_registered_memory = true;
  share_flag(0);
  auto& copied = *reinterpret_cast<rewriter::HostRecords*>(
    reinterpret_cast<std::byte*>(registered) + kBehindFlags);
  const std::uint64_t first = launch(11);
  mistake(first);
  *registered = 1; // the flag
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  const std::uint64_t second = launch(12);
  mistake(second, 1, -1, 7);
  mistake(second, 1, -1, 6);
  for (std::uint32_t i = 0; i < 3; ++i) {
    rewriter::Record& copy = copied.records[copied.used++] = records[i];
    copy.is_whole = (kernel.module->number << rewriter::kModuleBits) + i + 1;
  }
  copied.records[copied.used] = records[2];
  copied.records[copied.used++].is_whole = (99 << rewriter::kModuleBits) + 9;
  has_faulted = true;
  *registered = 1;
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[1].call, 12u);
  EXPECT_EQ(reported.faults[1].count, 2u);
  EXPECT_EQ(reported.faults[1].thread, 6u);
  fetch_last_reports();
  EXPECT_EQ(reported.faults.size(), 2u);
}

TEST_F(KernelCheckReports, InSharedMemoryTheArrayIsNamed) {
  kernel.module->code.sites[0].array = "tile";
  mistake(launch(11), 0, 64);
  records[0].space = rewriter::RecordSpace::kShared;
  records[0].meant = 0x400;
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].kind, trace::ExecutionReport::kOutOfBounds);
  EXPECT_EQ(reported.faults[0].space, trace::ExecutionSpace::kShared);
  EXPECT_EQ(reported.faults[0].meant, 0x400u);
  EXPECT_EQ(reported.faults[0].meant_bytes, 64u);
  EXPECT_EQ(reported.faults[0].meant_name, "tile");
}

// A function that was called by a pointer does not know its launch.
TEST_F(KernelCheckReports, WithoutANumberItIsTheOnlyLaunchThatFits) {
  Launch other;
  other.call = 12;
  other.module = kernel.module;
  other.kernel = "kernel";
  for (unsigned i = 0; i < 3; ++i) other.grid[i] = other.block[i] = 1;
  remember_launch(other);
  launch(11);
  forget_launch(launch(13)); // the driver refused it
  mistake(0);                // thread 3
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].call, 11u);
  launch(14);
  mistake(0);
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[1].call, 0u); // either
  EXPECT_EQ(reported.faults[1].kernel, "kernel");
}

TEST_F(KernelCheckReports, CountsWithoutRecordsBelongToTheLastLaunchKnown) {
  const std::uint64_t number = launch(11);
  for (std::uint64_t i = 0; i < rewriter::kRecordsOfSite; ++i) mistake(number);
  counts[0] += 936;
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].count, 1000u);
  counts[0] += 5;
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[1].count, 5u);
  EXPECT_EQ(reported.faults[1].call, 11u);
}

TEST_F(KernelCheckReports, ARecordThatIsStillWrittenIsLeftForTheNextTime) {
  const std::uint64_t number = launch(11);
  mistake(number, 0);
  mistake(number, 1);
  records[1].is_whole = 0;
  fetch_reports();
  ASSERT_EQ(reported.faults.size(), 1u);
  records[1].is_whole = 1;
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 2u);
  EXPECT_EQ(reported.faults[1].count, 1u);
}

TEST_F(KernelCheckReports, WithoutALaunchNothingIsFetched) {
  const std::uint64_t number = launch(11);
  fetch_reports(launch_count());
  mistake(number);
  fetch_reports(launch_count());
  EXPECT_TRUE(reported.faults.empty());
  launch(12);
  fetch_reports(launch_count());
  EXPECT_EQ(reported.faults.size(), 1u);
}

// A kernel that was launched behind the wait may still run: its module is asked again.
TEST_F(KernelCheckReports, ALaunchBehindTheWaitMayHaveNewsLater) {
  launch(11);
  const std::uint64_t ended = launch_count();
  const std::uint64_t number = launch(12);
  fetch_reports(ended);
  EXPECT_TRUE(reported.faults.empty());
  mistake(number);
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].call, 12u);
}

// By the bounds of its pointer: whatever lies at the address is not what was meant.
TEST_F(KernelCheckReports, TheBlockThatWasMeantIsNamed) {
  CUdeviceptr block = 0, next = 0;
  ASSERT_EQ(allocate(&block, 1000), CUDA_SUCCESS);
  ASSERT_EQ(allocate(&next, 1000), CUDA_SUCCESS);
  mistake(launch(11), 0, rewriter::kFreedEntry);
  records[0].address = next + 4;
  records[0].meant = block;
  fetch_reports(launch_count());
  ASSERT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(reported.faults[0].kind, trace::ExecutionReport::kOutOfBounds);
  EXPECT_EQ(reported.faults[0].meant, block);
  EXPECT_EQ(reported.faults[0].meant_bytes, 1000u);
}

// Before memory is freed its reports are there, though another thread is at it.
TEST_F(KernelCheckReports, OneThatMustHaveThemWaitsForAnother) {
  const std::uint64_t number = launch(11);
  std::atomic<bool> goes_on{false};
  while_fetching = [&] {
    while_fetching = nullptr;
    std::thread hasty([] { try_fetch_reports(launch_count()); });
    hasty.join(); // it did not wait
    goes_on = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  mistake(number);
  std::thread first([] { fetch_reports(launch_count()); });
  while (!goes_on.load()) std::this_thread::yield();
  fetch_reports(launch_count());
  EXPECT_EQ(reported.faults.size(), 1u);
  first.join();
}

// Checked code sets a word of the host: nothing is copied from the device where it is 0.
TEST_F(KernelCheckReports, NothingIsFetchedAsLongAsTheFlagIsNotSet) {
  leave_table(table().context());
  has_registered_memory = true;
  ASSERT_TRUE(has_table());
  ASSERT_NE(registered, nullptr);
  EXPECT_EQ(table().flag(), reinterpret_cast<std::uint64_t>(registered));
  std::uint32_t flagged = 1;
  kernel.module->slots[0].flagged = reinterpret_cast<CUdeviceptr>(&flagged);
  unsigned fetched = 0;
  while_fetching = [&fetched] { ++fetched; };
  mistake(launch(11));
  fetch_reports(launch_count());
  EXPECT_EQ(fetched, 0u);
  *registered = 1;
  fetch_reports(launch_count());
  EXPECT_EQ(reported.faults.size(), 1u);
  EXPECT_EQ(*registered, 0u);
  EXPECT_EQ(flagged, 0u); // the next mistake sets the flag again
  mistake(launch(12));
  fetch_last_reports();
  EXPECT_EQ(reported.faults.size(), 2u);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
