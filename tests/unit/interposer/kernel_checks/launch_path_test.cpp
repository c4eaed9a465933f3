// SPDX-License-Identifier: Apache-2.0
// What each launch of a checked kernel reads and writes without a lock: kernels by handle, and the
// last launches; and the arguments that the driver gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "interposer/kernel_checks/library/arguments.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/kernel_table.h"
#include "interposer/kernel_checks/library/launches.h"
#include "made_up_driver.h"
#include "tests/support/test_share.h"

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

// A kernel that asks for clusters when it runs waits for its cluster: so must its checked form.
TEST(KernelCheckKernels, TheCheckedFormHasWhatWasAskedOfThePlainOne) {
  begin_made_up_driver();
  Kernel kernel;
  kernel.handle = handle(1);
  kernel.checked = handle(2);
  attributes = {{{handle(1), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES}, 65536},
                {{handle(1), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH}, 4},
                {{handle(1), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT}, 2},
                {{handle(1), CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH}, 1},
                {{handle(1), CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE}, 2}};
  const auto asked = attributes;
  copy_attributes(kernel, kernel.handle);
  for (const auto& [of, value] : asked)
    EXPECT_EQ((attributes[{handle(2), of.second}]), value) << of.second;
}

// The plain form may do what the checked one cannot.
TEST(KernelCheckKernels, WhatTheDeviceCannotLaunchIsTriedPlain) {
  for (const CUresult result :
       {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_INVALID_CLUSTER_SIZE})
    EXPECT_TRUE(is_refused(result)) << result;
  EXPECT_FALSE(is_refused(CUDA_ERROR_LAUNCH_FAILED));
}

// A node has no second try: it gets the checked form only if that surely fits.
TEST(KernelCheckKernels, ACooperativeNodeIsCheckedIfItsBlocksFitAtOnce) {
  begin_made_up_driver();
  Kernel kernel;
  kernel.handle = handle(1);
  kernel.checked = handle(2);
  const Shape shape{{8, 2, 1}, {64, 1, 1}, nullptr};
  const auto can_be = [&](int of_plain, int of_checked) {
    fitting = {{handle(1), of_plain}, {handle(2), of_checked}};
    return can_be_cooperative(kernel, table(), shape, 0, false);
  };
  EXPECT_TRUE(can_be(4, 4));
  EXPECT_TRUE(can_be(4, 5));
  EXPECT_FALSE(can_be(4, 3)); // how much of the device the context has is not known
}

Launch launch_of_call(std::uint64_t call) {
  Launch launch;
  launch.call = call;
  launch.function = launch.stream = call;
  for (unsigned i = 0; i < 3; ++i) launch.grid[i] = launch.block[i] = static_cast<unsigned>(call);
  return launch;
}

TEST(KernelCheckLaunches, TheLastOnesAreRemembered) {
  const std::uint64_t number = remember_launch(launch_of_call(11));
  Launch launch;
  ASSERT_TRUE(find_launch(number, &launch));
  EXPECT_EQ(launch.call, 11u);
  EXPECT_EQ(launch.number, number);
  EXPECT_EQ(launch.block[2], 11u);
  forget_launch(remember_launch(launch_of_call(12))); // the driver refused it
  EXPECT_FALSE(find_launch(number + 1, &launch));
  EXPECT_EQ(newest_launch(), number + 1);
  for (std::uint64_t i = 0; i < kMostLaunches; ++i) remember_launch(launch_of_call(100 + i));
  EXPECT_FALSE(find_launch(number, &launch));
  ASSERT_TRUE(find_launch(number + 2, &launch));
  EXPECT_EQ(launch.call, 100u);
  forget_launches();
  EXPECT_FALSE(find_launch(number + 2, &launch));
  EXPECT_FALSE(find_launch(0, &launch)); // is no launch's number
}

// A node runs as long as its graph does.
TEST(KernelCheckLaunches, NodesAreRememberedLongerThanLaunches) {
  const std::uint64_t node = remember_node(launch_of_call(11));
  const std::uint64_t other = remember_node(launch_of_call(12));
  for (std::uint64_t i = 0; i < kMostLaunches; ++i) remember_launch(launch_of_call(100 + i));
  Launch launch;
  ASSERT_TRUE(find_launch(node, &launch));
  EXPECT_TRUE(is_of_node(launch));
  EXPECT_EQ(launch.number, node);
  EXPECT_EQ(launch.call, 11u);
  ASSERT_TRUE(find_launch(newest_launch(), &launch));
  EXPECT_FALSE(is_of_node(launch));
  EXPECT_TRUE(renew_node(node, launch_of_call(13)));
  ASSERT_TRUE(find_launch(node, &launch));
  EXPECT_EQ(launch.call, 13u);
  forget_launch(other); // the driver refused it
  EXPECT_FALSE(find_launch(other, &launch));
  EXPECT_TRUE(find_launch(node, &launch));
  forget_launches();
  EXPECT_FALSE(find_launch(node, &launch));
  EXPECT_FALSE(renew_node(node, launch_of_call(14)));
  EXPECT_NE(remember_node(launch_of_call(15)), node);
  forget_launches();
}

// What is found is whole, whatever is written meanwhile.
TEST(KernelCheckLaunches, AreReadWhileOthersAreMade) {
  const std::uint64_t before = newest_launch();
  std::atomic<int> running{2}, wrong{0};
  const auto make = [&] {
    for (std::uint64_t i = 1; i <= 2 * kMostLaunches; ++i) remember_launch(launch_of_call(i));
    --running;
  };
  std::thread one(make), other(make);
  Launch launch;
  while (running.load() > 0) {
    const std::uint64_t number = newest_launch();
    if (number == before || !find_launch(number, &launch)) continue;
    const bool is_whole = launch.number == number && launch.call == launch.function &&
                          launch.call == launch.stream && launch.block[2] == launch.call;
    if (!is_whole) ++wrong;
  }
  one.join();
  other.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(newest_launch(), before + 4 * kMostLaunches);
  forget_launches();
}

// ---- the number among the arguments

TEST(KernelCheckArguments, TheNumberFollowsTheProgramsOwn) {
  int a = 1, b = 2;
  void* list[] = {&a, &b};
  const NumberedArguments numbered({true, 2, 8}, 77, list, nullptr);
  EXPECT_EQ(numbered.extra(), nullptr);
  EXPECT_EQ(numbered.parameters()[0], &a);
  EXPECT_EQ(numbered.parameters()[1], &b);
  EXPECT_EQ(*static_cast<std::uint64_t*>(numbered.parameters()[2]), 77u);
  const NumberedArguments alone({true, 0, 0}, 78, nullptr, nullptr);
  EXPECT_EQ(*static_cast<std::uint64_t*>(alone.parameters()[0]), 78u);
}

TEST(KernelCheckArguments, ManyParameters) {
  std::vector<int> values(200);
  std::vector<void*> list;
  for (int& value : values) list.push_back(&value);
  const NumberedArguments numbered({true, 200, 800}, 77, list.data(), nullptr);
  EXPECT_EQ(numbered.parameters()[199], &values[199]);
  EXPECT_EQ(*static_cast<std::uint64_t*>(numbered.parameters()[200]), 77u);
}

// The host may have no memory for an array: nothing ends then, and the plain form is launched.
TEST(KernelCheckArguments, WithoutMemoryThereAreNone) {
  if (GMT_IS_SANITIZED) GTEST_SKIP() << "the sanitizer ends a process that has no memory left";
  const std::uint32_t many = 50'000'000;
  const std::size_t bytes = 8;
  std::vector<void*> list(1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit little = before;
  little.rlim_cur = 1 << 20; // less than there is already
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, list.data(), CU_LAUNCH_PARAM_BUFFER_SIZE,
                   const_cast<std::size_t*>(&bytes), CU_LAUNCH_PARAM_END};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  const NumberedArguments by_list({true, many, 8}, 77, list.data(), nullptr);
  const NumberedArguments by_buffer({true, 1, 8 * many}, 77, nullptr, extra);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_FALSE(by_list.are_there());
  EXPECT_FALSE(by_buffer.are_there());
}

// The buffer may be shorter than the parameters, and longer.
TEST(KernelCheckArguments, ABufferIsCopied) {
  const std::uint32_t given[] = {5, 6, 7};
  for (std::size_t bytes : {std::size_t{4}, std::size_t{8}, std::size_t{12}}) {
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::uint32_t*>(given),
                     CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const NumberedArguments numbered({true, 2, 8}, 77, nullptr, extra);
    void** const made = numbered.extra();
    ASSERT_EQ(made[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
    const auto* buffer = static_cast<const std::byte*>(made[1]);
    EXPECT_EQ(*static_cast<std::size_t*>(made[3]), 16u);
    EXPECT_EQ(made[4], CU_LAUNCH_PARAM_END);
    EXPECT_EQ(std::memcmp(buffer, given, std::min<std::size_t>(bytes, 8)), 0);
    const std::uint64_t number = 77;
    EXPECT_EQ(std::memcmp(buffer + 8, &number, 8), 0);
  }
}

TEST(KernelCheckArguments, WhatIsNotUnderstoodStaysTheDrivers) {
  int a = 1;
  void* list[] = {&a};
  const NumberedArguments full({false, 1, 8}, 77, list, nullptr); // no room for it
  EXPECT_EQ(full.parameters(), list);
  const NumberedArguments none({true, 1, 8}, 77, nullptr, nullptr);
  EXPECT_EQ(none.parameters(), nullptr);
}

} // namespace
} // namespace gmt::interposer::kernel_checks
