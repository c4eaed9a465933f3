// SPDX-License-Identifier: Apache-2.0
// The scan of launch arguments (interposer/recorders/launch_arguments.cpp) against a made-up driver: which words end up in the record,
// with which parameter's number, for every shape of parameters; and what is forgotten when code is unloaded.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "interposer/device_ring/ring.h"
#include "interposer/recorders/launch_arguments.h"
#include "interposer/log/process.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/device_ring/drain.h"
#include "interposer/calls/call.h"
#include "interposer/log/thread_log.h"
#include "interposer/driver_state/code_generation.h"
#include "interposer/log/thread_session.h"

namespace gmt::interposer {

namespace {

struct Kernel {
  std::string name;
  std::vector<std::pair<std::size_t, std::size_t>> parameters; // offset, size
  bool is_function = true;                                     // else a CUkernel
  bool is_instrumented = false;
};
std::map<std::uint64_t, Kernel> driver_kernels;
std::atomic<unsigned> questions = 0;
std::map<std::uint64_t, Kernel> announced; // by kKernel and kName records
ThreadLog* the_log = nullptr;
std::atomic<unsigned> handed_over = 0, announcements = 0; // calls about rings

constexpr int kOk = 0, kInvalidValue = 1, kInvalidHandle = 400;

int parameter_of(bool function, std::uint64_t handle, std::size_t index, std::size_t* offset, std::size_t* size) {
  ++questions;
  const auto it = driver_kernels.find(handle);
  if (it == driver_kernels.end() || it->second.is_function != function) return kInvalidHandle;
  if (index >= it->second.parameters.size()) return kInvalidValue;
  *offset = it->second.parameters[index].first;
  *size = it->second.parameters[index].second;
  return kOk;
}
int function_parameter(std::uint64_t handle, std::size_t index, std::size_t* offset, std::size_t* size) {
  return parameter_of(true, handle, index, offset, size);
}
int kernel_parameter(std::uint64_t handle, std::size_t index, std::size_t* offset, std::size_t* size) {
  return parameter_of(false, handle, index, offset, size);
}
int name_of(bool function, const char** name, std::uint64_t handle) {
  const auto it = driver_kernels.find(handle);
  if (it == driver_kernels.end() || it->second.is_function != function) return kInvalidHandle;
  *name = it->second.name.c_str();
  return kOk;
}
int function_name(const char** name, std::uint64_t handle) { return name_of(true, name, handle); }
int kernel_name(const char** name, std::uint64_t handle) { return name_of(false, name, handle); }

} // namespace

// What the code under test asks of the rest of the interposer.
Options Process::options_{};
std::atomic<std::uint32_t> no_session{1}; // every thread asks for its log anew
std::atomic<std::atomic<std::uint32_t>*> Process::fork_page_{&no_session};
constinit thread_local ThreadSession thread_session __attribute__((tls_model("initial-exec"))) = {};
ThreadLog* Process::enter_thread(std::uint32_t&, std::uint32_t&) noexcept { return the_log; }
bool hand_over_ring(std::uint64_t function) noexcept {
  ++handed_over;
  const auto it = driver_kernels.find(function);
  return it != driver_kernels.end() && it->second.is_instrumented;
}
void expect_records() noexcept { ++announcements; }
void* driver_symbol(const char* name) noexcept {
  const std::string wanted = name;
  if (wanted == "cuFuncGetParamInfo") return reinterpret_cast<void*>(&function_parameter);
  if (wanted == "cuKernelGetParamInfo") return reinterpret_cast<void*>(&kernel_parameter);
  if (wanted == "cuFuncGetName") return reinterpret_cast<void*>(&function_name);
  if (wanted == "cuKernelGetName") return reinterpret_cast<void*>(&kernel_name);
  return nullptr;
}
trace::Slot* ThreadLog::append_words(trace::Kind kind, const std::uint64_t* words, unsigned count, std::uint16_t,
                                     bool) noexcept {
  static trace::Slot written{};
  Kernel& kernel = announced[words[0]];
  if (kind == trace::Kind::kName) {
    EXPECT_EQ(count, 2 + (words[1] + 7) / 8);
    kernel.name.assign(reinterpret_cast<const char*>(words + 2), words[1]);
  } else {
    EXPECT_EQ(kind, trace::Kind::kKernel);
    EXPECT_EQ(count, 2 + words[1]);
    kernel.parameters.clear();
    for (unsigned i = 2; i < count; ++i) kernel.parameters.emplace_back(words[i] & 0xffffffff, words[i] >> 32);
  }
  return &written;
}

namespace {

using Words = std::vector<std::pair<std::uint64_t, unsigned>>; // address, parameter

constexpr std::uint64_t kAddress = 0x7f1234560000;

class KernelScan : public testing::Test {
protected:
  KernelScan() {
    forget_kernels();
    driver_kernels.clear();
    announced.clear();
    questions = handed_over = announcements = 0;
    static ThreadLog log;
    the_log = &log;
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
      words.emplace_back(trace::argument_address(record.w[i]), trace::argument_parameter(record.w[i]));
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
  EXPECT_EQ(launch(0x10, {&one, &four, &twelve, &last, &pointer}), (Words{{0x7f1200010000, 2}, {kAddress, 4}}));
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
  EXPECT_EQ(announced[0x10].parameters, kernel.parameters);
}

TEST_F(KernelScan, ExtraIsScannedAsABlock) {
  driver_kernels[0x10] = {"extra", {{0, 4}, {8, 16}, {24, 8}}};
  std::uint64_t block[4] = {3, kAddress, kAddress + 8, kAddress + 16};
  std::size_t size = sizeof block;
  void* extra[] = {reinterpret_cast<void*>(1), block, reinterpret_cast<void*>(2), &size, nullptr};
  EXPECT_EQ(launch(0x10, nullptr, extra), (Words{{kAddress, 1}, {kAddress + 8, 1}, {kAddress + 16, 2}}));
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
    EXPECT_EQ(questions, 2u + 1u + 3u); // each to its end, and the wrong question about the CUkernel
  }
  EXPECT_EQ(announced[0x10].name, long_name);
  EXPECT_EQ(announced[0x20].name, "kernel");
  EXPECT_EQ(announced[0x20].parameters, driver_kernels[0x20].parameters);
}

TEST_F(KernelScan, UnknownHandlesAreAskedAboutAgain) {
  std::uint64_t pointer = kAddress;
  EXPECT_TRUE(launch(0x10, {&pointer}).empty());
  EXPECT_FALSE(complete);
  driver_kernels[0x10] = {"late", {{0, 8}}};
  EXPECT_EQ(launch(0x10, {&pointer}).size(), 1u);
}

TEST_F(KernelScan, EveryLaunchOfAnInstrumentedKernelIsToldToTheRings) {
  driver_kernels[0x10] = {"instrumented", {{0, 8}}, true, true};
  driver_kernels[0x20] = {"plain", {{0, 8}}};
  std::uint64_t pointer = kAddress;
  for (unsigned launches = 1; launches < 4; ++launches) {
    EXPECT_EQ(launch(0x10, {&pointer}), (Words{{kAddress, 0}}));
    EXPECT_TRUE(complete);
    EXPECT_EQ(launch(0x20, {&pointer}), (Words{{kAddress, 0}}));
    EXPECT_EQ(handed_over, launches + 1); // of the plain one, the first
    EXPECT_EQ(announcements, launches);
  }
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
  EXPECT_EQ(announced[0x10].name, "after");
  const unsigned asked = questions;
  EXPECT_EQ(launch(0x10, {&number, &pointer}), (Words{{kAddress, 1}}));
  EXPECT_EQ(questions, asked);
}

TEST_F(KernelScan, MoreKernelsThanTheTableHasPlacesFor) {
  std::uint64_t pointer = kAddress;
  for (std::uint64_t handle = 1; handle <= 20000; ++handle) {
    driver_kernels[handle * 64] = {"k", {{0, 8}}};
    ASSERT_EQ(launch(handle * 64, {&pointer}).size(), 1u) << handle;
  }
  for (std::uint64_t handle = 1; handle <= 20000; ++handle) ASSERT_EQ(launch(handle * 64, {&pointer}).size(), 1u);
}

TEST_F(KernelScan, ThreadsLaunchWhileCodeIsUnloaded) {
  for (std::uint64_t handle = 64; handle < 64 * 200; handle += 64) {
    driver_kernels[handle] = {"k", handle % 128 == 0 ? Kernel{}.parameters : decltype(Kernel::parameters){{0, 4}, {8, 8}}};
  }
  std::atomic<bool> stop = false;
  std::thread unloads([&] {
    while (!stop.load()) {
      { UnloadingCode around; }
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
