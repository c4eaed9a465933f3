// SPDX-License-Identifier: Apache-2.0
// What each launch of a checked kernel reads and writes without a lock: kernels by handle, and the
// last launches.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/kernel_table.h"
#include "interposer/kernel_checks/library/launches.h"

namespace gmt::interposer::kernel_checks {
namespace {

CUfunction handle(std::uint64_t i) {
  return reinterpret_cast<CUfunction>(0x550000000000 + 16 * i); // NOLINT: as CUDA's are
}

TEST(KernelCheckKernels, EachHandleHasItsKernelUntilAllAreForgotten) {
  constexpr std::uint64_t kCount = 3000;
  std::vector<Kernel> kernels(kCount);
  KernelTable table;
  EXPECT_EQ(table.find(handle(0)), nullptr);
  for (std::uint64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(table.add(handle(i), &kernels[i]), &kernels[i]);
  EXPECT_EQ(table.add(handle(7), &kernels[8]), &kernels[7]); // another thread was first
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(table.find(handle(i)), &kernels[i]) << i;
  EXPECT_EQ(table.find(handle(kCount)), nullptr);
  table.clear();
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(table.find(handle(i)), nullptr) << i;
  EXPECT_EQ(table.add(handle(7), &kernels[8]), &kernels[8]);
  EXPECT_EQ(table.find(handle(7)), &kernels[8]);
}

// A reader never gets another handle's kernel, however the table grows meanwhile.
TEST(KernelCheckKernels, AreFoundWhileOthersAreAdded) {
  constexpr std::uint64_t kCount = 20000;
  std::vector<Kernel> kernels(kCount);
  KernelTable table;
  std::atomic<std::uint64_t> added{0};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    for (std::uint64_t i = 0; added.load() < kCount; ++i) {
      const std::uint64_t which = i * 7919 % kCount;
      const bool must_be = which < added.load();
      const Kernel* found = table.find(handle(which));
      if (found != nullptr ? found != &kernels[which] : must_be) ++wrong;
    }
  });
  for (std::uint64_t i = 0; i < kCount; ++i) {
    table.add(handle(i), &kernels[i]);
    added.store(i + 1);
  }
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

Launch launch_of_call(std::uint64_t call) {
  Launch launch;
  launch.call = call;
  launch.function = launch.stream = call;
  for (unsigned i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = static_cast<unsigned>(call);
  return launch;
}

TEST(KernelCheckLaunches, TheLastOnesAreRemembered) {
  forget_launches();
  remember_launch(launch_of_call(11));
  count_launch();
  remember_launch(launch_of_call(13));
  EXPECT_EQ(launch_count(), 3u);
  Launch launch;
  ASSERT_TRUE(find_launch(3, &launch));
  EXPECT_EQ(launch.call, 13u);
  EXPECT_EQ(launch.number, 3u);
  EXPECT_EQ(launch.block[2], 13u);
  EXPECT_FALSE(find_launch(2, &launch)); // of a plain form
  for (std::uint64_t i = 0; i < kMostLaunches; ++i) remember_launch(launch_of_call(100 + i));
  EXPECT_FALSE(find_launch(3, &launch));
  ASSERT_TRUE(find_launch(4, &launch));
  EXPECT_EQ(launch.call, 100u);
  forget_launches();
  EXPECT_EQ(launch_count(), 0u);
  EXPECT_FALSE(find_launch(4, &launch));
  EXPECT_FALSE(find_launch(0, &launch)); // is no launch's number
}

// What is found is whole, whatever is written meanwhile.
TEST(KernelCheckLaunches, AreReadWhileOthersAreMade) {
  forget_launches();
  std::atomic<int> running{2}, wrong{0};
  const auto make = [&] {
    for (std::uint64_t i = 1; i <= 2 * kMostLaunches; ++i) remember_launch(launch_of_call(i));
    --running;
  };
  std::thread one(make), other(make);
  Launch launch;
  while (running.load() > 0) {
    const std::uint64_t number = launch_count();
    if (!find_launch(number, &launch)) continue;
    const bool is_whole = launch.number == number && launch.call == launch.function &&
                          launch.call == launch.stream && launch.block[2] == launch.call;
    if (!is_whole) ++wrong;
  }
  one.join();
  other.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(launch_count(), 4 * kMostLaunches);
  forget_launches();
}

} // namespace
} // namespace gmt::interposer::kernel_checks
