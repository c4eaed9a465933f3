// SPDX-License-Identifier: Apache-2.0
// What --coalescing costs programs of many shapes, on a made-up device with a clock of its own:
// kernels last as long as the test says, and many times longer where they are measured. No program
// may take more than 1.3 times its plain time and two seconds, and none may hang.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/sampling/sampling_policy.h"
#include "interposer/coalescing/collector/windows/sums.h"
#include "tests/unit/interposer/coalescing/made_up_device.h"

namespace gmt::interposer::collector {
namespace {

class CollectorCosts : public testing::Test {
protected:
  void start(const char* launches = "auto") {
    device = {};
    records.clear();
    std::strcpy(options.coalescing_launches, launches);
    collector_ = begin_collector(made_up_core(), {&made_up_metrics, &no_counters});
    collector_->forget();
    began_ = device.clock;
  }
  std::uint64_t kernel(const std::string& name, std::uint64_t nanoseconds,
                       std::uint64_t factor = 30, std::uint64_t shared_factor = 0) {
    const std::uint64_t handle = 0x1000 + device.kernels.size() * 16;
    device.kernels[handle] = {name, nanoseconds, factor, shared_factor};
    return handle;
  }
  void launch(std::uint64_t function, unsigned stream = 0, std::uint64_t warps = 1000) {
    DriverCall call{What::kLaunch, kFirstStream + stream, function};
    call.warps = warps;
    const std::uint64_t token = collector_->before(call);
    const MadeUpKernel& k = device.kernels.at(function);
    device.clock += 5'000;
    if (k.spins) {
      device.spinning_on = call.stream;
    } else {
      const std::uint64_t begin = std::max({device.clock, device.free_at, busy_until(call.stream)});
      // What stands behind a kernel that spins is not reached.
      const std::uint64_t lasts = k.nanoseconds * factor_of(k);
      if (begin < kForEver) device.free_at = device.stream_at[call.stream] = begin + lasts;
    }
    if (device.patched) {
      ++device.launched_in_window[k.name];
      ++device.ever_patched[k.name];
    }
    if (token != 0) collector_->after(call, token, true);
  }
  static std::uint64_t factor_of(const MadeUpKernel& k) {
    if (!device.patched) return 1;
    return device.part == Part::kAll ? std::max(k.factor, k.shared_factor) : k.factor;
  }
  void synchronize(unsigned stream = 0) {
    const DriverCall call{What::kSynchronized};
    const std::uint64_t token = collector_->before(call);
    device.clock = std::max(device.clock, busy_until(kFirstStream + stream));
    ASSERT_LT(device.clock, kForEver / 2) << "the program hangs";
    if (token != 0) collector_->after(call, token, true);
  }
  void release() {
    device.stream_at[device.spinning_on] = device.clock;
    device.spinning_on = 0;
  }
  std::uint64_t taken() const { return device.clock - began_; }
  std::uint64_t windows_word(unsigned word) const {
    for (const Record& record : records) {
      if (record.kind == trace::Kind::kAccessWindows) return word_of(record.slots.data(), word);
    }
    return 0;
  }
  std::uint64_t function_word(unsigned word) const { // of the only kernel
    for (const Record& record : records) {
      if (record.kind == trace::Kind::kAccessFunction) return word_of(record.slots.data(), word);
    }
    return 0;
  }

private:
  const CollectorFunctions* collector_ = nullptr;
  std::uint64_t began_ = 0;
};

struct Shape {
  std::uint64_t milliseconds;
  unsigned launches, streams;
  bool synchronizes; // after each launch
  bool measured;     // the allowance has room for it
};

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
  const Shape& s = info.param;
  return std::to_string(s.launches) + "_of_" + std::to_string(s.milliseconds) + "ms_" +
         std::to_string(s.streams) + (s.synchronizes ? "_waits" : "_never_waits");
}

class CollectorShapes : public CollectorCosts, public testing::WithParamInterface<Shape> {};

TEST_P(CollectorShapes, KeepTheBudget) {
  const Shape shape = GetParam();
  for (const std::uint64_t factor : {5u, 30u, 60u}) {
    start();
    const std::uint64_t k = kernel("k", shape.milliseconds * kMillisecond, factor);
    for (unsigned i = 0; i < shape.launches; ++i) {
      launch(k, i % shape.streams);
      if (shape.synchronizes) synchronize(i % shape.streams);
    }
    for (unsigned i = 0; i < shape.streams; ++i) synchronize(i);
    const std::uint64_t plain = shape.milliseconds * kMillisecond * shape.launches;
    EXPECT_LE(taken(), plain * 13 / 10 + 2 * kSecond)
      << "factor " << factor << ", measured " << device.measured["k"];
    EXPECT_EQ(device.measured["k"] != 0, shape.measured) << "factor " << factor;
    EXPECT_EQ(device.measured["k"], device.ever_patched["k"]);
    if (!shape.measured && shape.launches > 1) {
      EXPECT_NE(windows_word(WindowsWord::put_off), 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
  All, CollectorShapes,
  testing::Values(
    Shape{1, 2000, 1, false, true}, Shape{1, 2000, 8, false, true}, Shape{1, 2000, 1, true, true},
    Shape{1, 100, 8, true, true}, Shape{10, 100, 1, false, true}, Shape{10, 100, 8, false, true},
    Shape{10, 500, 1, true, true}, Shape{18, 100, 1, false, true}, Shape{28, 100, 1, false, true},
    Shape{100, 60, 1, false, false}, Shape{100, 40, 8, true, false}, Shape{200, 10, 1, true, false},
    Shape{1000, 5, 1, false, false}, Shape{1000, 5, 8, true, false}, Shape{5000, 1, 1, true, false},
    Shape{100, 1, 1, true, false}, Shape{1, 1, 1, true, false}),
  shape_name);

TEST_F(CollectorCosts, OnlyTheLaunchesThatWereAskedForAreMeasured) {
  for (const bool waits : {false, true}) {
    start("3");
    const std::uint64_t k = kernel("k", 10 * kMillisecond);
    for (unsigned i = 0; i < 100; ++i) {
      launch(k);
      if (waits) synchronize();
    }
    synchronize();
    EXPECT_EQ(device.ever_patched["k"], 3u);
    EXPECT_EQ(device.measured["k"], 3u);
    EXPECT_LE(taken(), 2 * kSecond);
  }
}

TEST_F(CollectorCosts, AnotherKernelIsNotSlowedDown) {
  start();
  const std::uint64_t quick = kernel("quick", kMillisecond),
                      slow = kernel("slow", 400 * kMillisecond);
  for (unsigned i = 0; i < 8; ++i) {
    launch(quick, 0);
    launch(slow, 1);
  }
  synchronize(0);
  synchronize(1);
  EXPECT_NE(device.measured["quick"], 0u);
  EXPECT_EQ(device.ever_patched["slow"], 0u);
}

TEST_F(CollectorCosts, LaterKernelsFindRoom) {
  start();
  const std::uint64_t first = kernel("first", 10 * kMillisecond, 60),
                      later = kernel("later", 10 * kMillisecond, 60);
  for (unsigned i = 0; i < 64; ++i) launch(first);
  for (unsigned i = 0; i < 4; ++i) launch(later);
  synchronize();
  EXPECT_NE(device.measured["later"], 0u);
}

TEST_F(CollectorCosts, ALargerGridIsForeseen) {
  start();
  const std::uint64_t k = kernel("k", kMillisecond);
  launch(k, 0, 1000);
  device.kernels[k].nanoseconds = 400 * kMillisecond;
  for (unsigned i = 0; i < 4; ++i) launch(k, 0, 400'000);
  synchronize();
  EXPECT_EQ(device.ever_patched["k"], 0u);
}

TEST_F(CollectorCosts, AFactorAboveTheForeseenIsLearnt) {
  start();
  const std::uint64_t first = kernel("first", 5 * kMillisecond, 300),
                      second = kernel("second", 5 * kMillisecond, 300);
  for (unsigned i = 0; i < 50; ++i) launch(first);
  synchronize();
  for (unsigned i = 0; i < 50; ++i) launch(second); // 60 times would fit, 300 times does not
  synchronize();
  EXPECT_NE(device.measured["first"], 0u);
  EXPECT_EQ(device.ever_patched["second"], 0u);
  EXPECT_NE(windows_word(WindowsWord::measuring_nanoseconds), 0u);
}

TEST_F(CollectorCosts, SharedMemoryIsMeasuredWhereThereIsTime) {
  start();
  const std::uint64_t k = kernel("k", 2 * kMillisecond, 15, 240);
  for (unsigned i = 0; i < 100; ++i) launch(k);
  synchronize();
  EXPECT_NE(device.measured["k"], 0u);
  EXPECT_NE(device.shared_measured["k"], 0u);
  EXPECT_EQ(function_word(FunctionWord::measured), device.measured["k"]);
  EXPECT_EQ(function_word(FunctionWord::measured) + function_word(FunctionWord::more_shared),
            device.shared_measured["k"]);
  EXPECT_LE(taken(), 200 * kMillisecond * 13 / 10 + 2 * kSecond);
}

TEST_F(CollectorCosts, DearSharedMemoryIsLeftOut) {
  start();
  const std::uint64_t k = kernel("k", 20 * kMillisecond, 15, 240);
  for (unsigned i = 0; i < 100; ++i) launch(k);
  synchronize();
  EXPECT_NE(device.measured["k"], 0u);
  EXPECT_EQ(device.shared_measured["k"], 0u);
  EXPECT_EQ(function_word(FunctionWord::measured) + function_word(FunctionWord::more_shared), 0u);
  EXPECT_LE(taken(), 2000 * kMillisecond * 13 / 10 + 2 * kSecond);
}

// ---- kernels that wait for what is held back

// Known to the collector, so that its next launch is measured.
#define MEASURE_NEXT(k)                                                                            \
  launch(k);                                                                                       \
  synchronize()

TEST_F(CollectorCosts, AKernelThatWaitsForALaterOneDoesNotHang) {
  for (const char* launches : {"auto", "5"}) {
    start(launches);
    const std::uint64_t spin = kernel("spin", 20 * kMillisecond),
                        next = kernel("next", kMillisecond), flag = kernel("flag", kMillisecond);
    MEASURE_NEXT(spin);
    device.kernels[spin].spins = true;
    const std::uint64_t before = device.clock;
    for (unsigned round = 0; round < 20; ++round) {
      launch(spin, 1);
      launch(next, 1); // stands behind the one that spins
      launch(flag, 2);
      release();
      synchronize(1);
      synchronize(2);
    }
    EXPECT_LE(device.clock - before, 5 * kSecond) << launches;
  }
}

TEST_F(CollectorCosts, AKernelThatWaitsForTheHostDoesNotHang) {
  start();
  const std::uint64_t spin = kernel("spin", 20 * kMillisecond), next = kernel("next", kMillisecond);
  MEASURE_NEXT(spin);
  device.kernels[spin].spins = true;
  launch(spin, 1);
  launch(next, 1);
  release(); // by the host, which was held for so long
  synchronize(1);
  EXPECT_LE(taken(), 3 * kSecond + kSecond / 2);
}

} // namespace
} // namespace gmt::interposer::collector
