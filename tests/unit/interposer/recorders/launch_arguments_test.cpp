// SPDX-License-Identifier: Apache-2.0
// The scan of launch arguments (interposer/recorders/launch_arguments.cpp) against a made-up
// driver: which words end up in the record, with which parameter's number, for every shape of
// parameters; and what is forgotten when code is unloaded. Logs and rings are the real ones.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "interposer/device_ring/drain.h"
#include "interposer/device_ring/ring.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/driver_state/context_ids.h"
#include "interposer/loader/driver_function.h"
#include "interposer/log/process.h"
#include "interposer/recorders/launch_arguments.h"
#include "tests/unit/interposer/recorders/made_up_driver.h"
#include "tests/unit/interposer/recorders/recorded_kernels.h"
#include "trace/records.h"
#include "trace/ring_reader.h"

namespace gmt::interposer {

constinit const SessionPart kParts[] = {
  {forget_contexts, nullptr}, {forget_kernels, nullptr}, {forget_device_rings, nullptr}};
constinit const SessionParts session_parts{kParts, std::size(kParts)};

namespace {

namespace fs = std::filesystem;

class RemovesTrace : public testing::Environment {
  void TearDown() override {
    for (Ring& ring : rings) {
      if (ring.memory.base != nullptr) drop_ring_memory(ring.memory);
    }
    if (Process::is_on()) fs::remove_all(trace_folder());
  }
};
[[maybe_unused]] const testing::Environment* const kRemovesTrace =
  testing::AddGlobalTestEnvironment(new RemovesTrace);

using Words = std::vector<std::pair<std::uint64_t, unsigned>>; // address, parameter

constexpr std::uint64_t kAddress = 0x7f1234560000;

class KernelScan : public testing::Test {
protected:
  KernelScan() {
    forget_kernels();
    set_driver_look_up(made_up_driver);
    driver_kernels.clear();
    questions = 0;
  }

  // The launch's words, and whether all of them are there.
  Words launch(std::uint64_t function, std::vector<void*> parameters) {
    return launch(function, parameters.data(), nullptr);
  }
  Words launch(std::uint64_t function, void* const* parameters, void* const* extra) {
    Record record;
    record.flags = 0;
    record.words = trace::kFirstPayloadWords;
    record_arguments(record, function, parameters, extra);
    complete = (record.flags & trace::kLaunchScanned) != 0;
    Words words;
    for (unsigned i = trace::kFirstPayloadWords; i < record.words; ++i) {
      words.emplace_back(trace::argument_address(record.w[i]),
                         trace::argument_parameter(record.w[i]));
    }
    return words;
  }

  std::atomic<bool> complete = false; // of the last launch
};

TEST_F(KernelScan, NoParameters) {
  driver_kernels[0x10] = {"nothing", {}};
  EXPECT_TRUE(launch(0x10, {}).empty());
  EXPECT_TRUE(complete);
  EXPECT_TRUE(launch(0x10, nullptr, nullptr).empty());
  EXPECT_TRUE(complete);
}

TEST_F(KernelScan, PointersAreTakenAndNumbersAreNot) {
  driver_kernels[0x10] = {"k", {{0, 8}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 8}}};
  std::uint64_t pointer = kAddress, null = 0, small = 0xffff, lowest = 0x10000;
  std::uint64_t highest = (std::uint64_t{1} << 57) - 1, beyond = std::uint64_t{1} << 57;
  for (int again = 0; again < 2; ++again) { // the layout is asked for, then known
    EXPECT_EQ(launch(0x10, {&pointer, &null, &small, &lowest, &highest, &beyond}),
              (Words{{kAddress, 0}, {lowest, 3}, {highest, 4}}));
    EXPECT_TRUE(complete);
  }
}

TEST_F(KernelScan, OddSizesAreReadWithinTheirBounds) {
  driver_kernels[0x10] = {"odd", {{0, 1}, {4, 4}, {8, 12}, {20, 4}, {24, 8}}};
  char one = 'x';
  float four = 1;
  struct Twelve {
    std::uint32_t word[3];
  } twelve{{0x10000, 0x7f12, 9}}; // the first two words make an address
  std::uint32_t last = 7;
  std::uint64_t pointer = kAddress;
  EXPECT_EQ(launch(0x10, {&one, &four, &twelve, &last, &pointer}),
            (Words{{0x7f1200010000, 2}, {kAddress, 4}}));
  EXPECT_TRUE(complete);
}

// Twelve bytes at offset 4: only the second and third make an aligned word of the block.
TEST_F(KernelScan, WordsAreAlignedInTheBlockNotInTheParameter) {
  driver_kernels[0x10] = {"shifted", {{0, 4}, {4, 12}}};
  std::uint32_t first = 1;
  std::uint32_t twelve[3] = {0x10000, 0x20000, 0x7f12};
  EXPECT_EQ(launch(0x10, {&first, twelve}), (Words{{0x7f1200020000, 1}}));
}

TEST_F(KernelScan, StructuresCountUnderTheirParameter) {
  struct Padded {
    void* first;
    char tag;
    void* second;
    double number;
  } padded{reinterpret_cast<void*>(kAddress), 'x', reinterpret_cast<void*>(kAddress + 64), 2.5};
  static_assert(sizeof(Padded) == 32);
  std::memset(reinterpret_cast<char*>(&padded) + 9, 0, 7); // padding
  driver_kernels[0x10] = {"structure", {{0, 4}, {8, 32}, {40, 8}}};
  int number = 5;
  std::uint64_t pointer = kAddress + 128;
  EXPECT_EQ(launch(0x10, {&number, &padded, &pointer}),
            (Words{{kAddress, 1}, {kAddress + 64, 1}, {kAddress + 128, 2}}));
  EXPECT_TRUE(complete);
}

TEST_F(KernelScan, FourKibibytesOfPointersAreCutAndSaySo) {
  driver_kernels[0x10] = {"large", {{0, 4096}}};
  std::vector<std::uint64_t> block(512);
  for (std::size_t i = 0; i < 70; ++i) block[i * 7] = kAddress + i; // as many as a record holds
  EXPECT_EQ(launch(0x10, {block.data()}).size(), 70u);
  EXPECT_TRUE(complete);
  block[511] = kAddress;
  const Words words = launch(0x10, {block.data()});
  EXPECT_EQ(words.size(), 70u);
  EXPECT_EQ(words.back(), (std::pair<std::uint64_t, unsigned>{kAddress + 69, 0}));
  EXPECT_FALSE(complete);
}

TEST_F(KernelScan, ManyParametersShareTheLastNumber) {
  Kernel kernel{"many", {}};
  std::vector<std::uint64_t> values(140);
  std::vector<void*> parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    kernel.parameters.emplace_back(i * 8, 8);
    parameters.push_back(&values[i]);
  }
  values[126] = values[127] = values[139] = kAddress;
  driver_kernels[0x10] = kernel;
  EXPECT_EQ(launch(0x10, parameters), (Words{{kAddress, 126}, {kAddress, 127}, {kAddress, 127}}));
  EXPECT_EQ(announced()[0x10].parameters, kernel.parameters);
}

TEST_F(KernelScan, ExtraIsScannedAsABlock) {
  driver_kernels[0x10] = {"extra", {{0, 4}, {8, 16}, {24, 8}}};
  std::uint64_t block[4] = {3, kAddress, kAddress + 8, kAddress + 16};
  std::size_t size = sizeof block;
  void* extra[] = {reinterpret_cast<void*>(1), block, reinterpret_cast<void*>(2), &size, nullptr};
  EXPECT_EQ(launch(0x10, nullptr, extra),
            (Words{{kAddress, 1}, {kAddress + 8, 1}, {kAddress + 16, 2}}));
  EXPECT_TRUE(complete);
  size = 24; // the last parameter is not there
  EXPECT_EQ(launch(0x10, nullptr, extra), (Words{{kAddress, 1}, {kAddress + 8, 1}}));
  EXPECT_FALSE(complete);
}

TEST_F(KernelScan, MissingParametersAreNotRead) {
  driver_kernels[0x10] = {"missing", {{0, 8}, {8, 8}}};
  std::uint64_t pointer = kAddress;
  EXPECT_EQ(launch(0x10, {&pointer, nullptr}), (Words{{kAddress, 0}}));
  EXPECT_FALSE(complete);
  EXPECT_TRUE(launch(0x10, nullptr, nullptr).empty());
  EXPECT_FALSE(complete);
}

TEST_F(KernelScan, BothKindsOfHandlesAreAskedOnceAndAnnounced) {
  const std::string long_name(9000, 'n');
  driver_kernels[0x10] = {long_name, {{0, 8}}, true};
  driver_kernels[0x20] = {"kernel", {{0, 8}, {8, 4}}, false};
  std::uint64_t pointer = kAddress;
  int number = 1;
  for (int again = 0; again < 3; ++again) {
    EXPECT_EQ(launch(0x10, {&pointer}), (Words{{kAddress, 0}}));
    EXPECT_EQ(launch(0x20, {&pointer, &number}), (Words{{kAddress, 0}}));
    // Each to its end, and the wrong question about the CUkernel
    EXPECT_EQ(questions, 2u + 1u + 3u);
  }
  EXPECT_EQ(announced()[0x10].name, long_name);
  EXPECT_EQ(announced()[0x20].name, "kernel");
  EXPECT_EQ(announced()[0x20].parameters, driver_kernels[0x20].parameters);
}

TEST_F(KernelScan, UnknownHandlesAreAskedAboutAgain) {
  std::uint64_t pointer = kAddress;
  EXPECT_TRUE(launch(0x10, {&pointer}).empty());
  EXPECT_FALSE(complete);
  driver_kernels[0x10] = {"late", {{0, 8}}};
  EXPECT_EQ(launch(0x10, {&pointer}).size(), 1u);
}

TEST_F(KernelScan, TheModuleOfAnInstrumentedKernelGetsTheRingOfEachContext) {
  driver_kernels[0x10] = {"instrumented", {{0, 8}}, false, true};
  driver_kernels[0x20] = {"plain", {{0, 8}}};
  std::uint64_t pointer = kAddress;
  std::set<std::uint64_t> controls;
  for (const std::uint64_t context : {0xc1u, 0xc2u}) {
    context_now = context;
    for (unsigned i = 0; i < 3; ++i) {
      EXPECT_EQ(launch(0x10, {&pointer}), (Words{{kAddress, 0}}));
      EXPECT_TRUE(complete);
      EXPECT_EQ(launch(0x20, {&pointer}), (Words{{kAddress, 0}}));
    }
    const std::uint64_t given = variables[0x10 | context << 16];
    ASSERT_NE(given, 0u);
    EXPECT_EQ(reinterpret_cast<const trace::DeviceControl*>(given)->version, trace::kRingVersion);
    EXPECT_TRUE(controls.insert(given).second);
    EXPECT_EQ(variable_writes, controls.size());
  }
  EXPECT_EQ(variables.size(), 2u);
  // Of the CUkernel and of its function in each context, and the plain one's once
  EXPECT_EQ(module_questions, 5u);
  for (const std::uint64_t context : {0xc1u, 0xc2u}) context_has_ended(context);
  context_now = 0;
}

TEST_F(KernelScan, AHandleThatComesBackHasItsNewParameters) {
  driver_kernels[0x10] = {"before", {{0, 8}}};
  std::uint64_t pointer = kAddress;
  launch(0x10, {&pointer});
  {
    UnloadingCode around;
    EXPECT_EQ(launch(0x10, {&pointer}).size(), 1u); // asked anew, and not kept
    driver_kernels[0x10] = {"after", {{0, 4}, {8, 8}}};
  }
  int number = 0;
  EXPECT_EQ(launch(0x10, {&number, &pointer}), (Words{{kAddress, 1}}));
  EXPECT_EQ(announced()[0x10].name, "after");
  const unsigned asked = questions;
  EXPECT_EQ(launch(0x10, {&number, &pointer}), (Words{{kAddress, 1}}));
  EXPECT_EQ(questions, asked);
}

TEST_F(KernelScan, MoreKernelsThanTheTableHasSlotsFor) {
  std::uint64_t pointer = kAddress;
  for (std::uint64_t handle = 1; handle <= 20000; ++handle) {
    driver_kernels[handle * 64] = {"k", {{0, 8}}};
    ASSERT_EQ(launch(handle * 64, {&pointer}).size(), 1u) << handle;
  }
  for (std::uint64_t handle = 1; handle <= 20000; ++handle)
    ASSERT_EQ(launch(handle * 64, {&pointer}).size(), 1u);
}

TEST_F(KernelScan, ThreadsLaunchWhileCodeIsUnloaded) {
  for (std::uint64_t handle = 64; handle < 64 * 200; handle += 64) {
    driver_kernels[handle] = {
      "k", handle % 128 == 0 ? Kernel{}.parameters : decltype(Kernel::parameters){{0, 4}, {8, 8}}};
  }
  std::atomic<bool> stop = false;
  std::thread unloads([&] {
    while (!stop.load()) {
      {
        UnloadingCode around;
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      int number = 0;
      std::uint64_t pointer = kAddress;
      for (int round = 0; round < 20; ++round) {
        for (std::uint64_t handle = 64; handle < 64 * 200; handle += 64) {
          const Words expected = handle % 128 == 0 ? Words{} : Words{{kAddress, 1}};
          ASSERT_EQ(launch(handle, {&number, &pointer}), expected);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  unloads.join();
}

} // namespace
} // namespace gmt::interposer
