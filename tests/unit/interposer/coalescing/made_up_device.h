// SPDX-License-Identifier: Apache-2.0
// A made-up device with a clock of its own, for the collector: kernels last as long as the test
// says, and many times longer where they are measured. One executable's tests share one device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/windows/sums.h"
#include "tests/unit/interposer/coalescing/made_up_core.h"

namespace gmt::interposer::collector {
namespace {

using What = DriverCall::What;

constexpr std::uint64_t kSecond = 1000 * kMillisecond, kForEver = 1'000'000 * kSecond;

// ---- the device: runs one kernel after the other, in the order in which they were launched

struct MadeUpKernel {
  std::string name;
  std::uint64_t nanoseconds;
  std::uint64_t factor;            // in a window
  std::uint64_t shared_factor = 0; // in one that measures shared memory too, if it uses any
  bool spins = false;              // until released
};
struct Event {
  std::uint64_t stream = 0, at = 0; // `at`: when what was on the stream is done
};
struct Device {
  std::uint64_t clock = kSecond;
  std::uint64_t free_at = 0;                        // the device
  std::map<std::uint64_t, std::uint64_t> stream_at; // when each stream is done
  std::map<std::uint64_t, MadeUpKernel> kernels;    // by handle
  std::vector<Event> events;
  std::uint64_t spinning_on = 0; // stream of the kernel that spins, 0 none
  bool patched = false;
  Part part = Part::kAll;                                  // that the window measures
  std::map<std::string, std::uint64_t> launched_in_window; // since the window opened
  std::map<std::string, std::uint64_t> measured;           // launches that were read
  std::map<std::string, std::uint64_t> shared_measured;    // the same, for shared memory
  std::map<std::string, std::uint64_t> ever_patched;
};
Device device;
std::uint64_t busy_until(std::uint64_t stream) {
  if (stream == device.spinning_on) return kForEver;
  return device.stream_at[stream];
}

int stream_query(std::uint64_t stream) { return busy_until(stream) <= device.clock ? 0 : 600; }
int is_capturing(std::uint64_t, int* status) { return *status = 0; }
int exchange_mode(int* mode) { return *mode = 0; }
int get_device(int* ordinal) { return *ordinal = 0; }
int get_name(const char** name, std::uint64_t function) {
  return *name = device.kernels.at(function).name.c_str(), 0;
}
int load(std::uint64_t) { return 0; }
int event_create(std::uint64_t* event, unsigned) {
  device.events.emplace_back();
  *event = device.events.size();
  return 0;
}
int event_record(std::uint64_t event, std::uint64_t stream) {
  device.events[event - 1] = {stream, std::max(device.clock, busy_until(stream))};
  return 0;
}
int event_query(std::uint64_t event) {
  return device.events[event - 1].at <= device.clock ? 0 : 600;
}
int event_elapsed(float* milliseconds, std::uint64_t first, std::uint64_t last) {
  *milliseconds =
    static_cast<float>(device.events[last - 1].at - device.events[first - 1].at) / 1e6f;
  return 0;
}

void* driver_symbol(const char* name) {
  static const std::map<std::string, void*> kFunctions = {
    {"cuStreamQuery", reinterpret_cast<void*>(&stream_query)},
    {"cuStreamIsCapturing", reinterpret_cast<void*>(&is_capturing)},
    {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(&exchange_mode)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(&get_device)},
    {"cuFuncGetName", reinterpret_cast<void*>(&get_name)},
    {"cuFuncLoad", reinterpret_cast<void*>(&load)},
    {"cuEventCreate", reinterpret_cast<void*>(&event_create)},
    {"cuEventRecord", reinterpret_cast<void*>(&event_record)},
    {"cuEventQuery", reinterpret_cast<void*>(&event_query)},
    {"cuEventElapsedTime", reinterpret_cast<void*>(&event_elapsed)}};
  const auto found = kFunctions.find(name);
  return found != kFunctions.end() ? found->second : nullptr;
}

// ---- the core

const CoreFunctions& made_up_core() {
  static CoreFunctions functions = core_functions();
  functions.driver_symbol = driver_symbol;
  functions.now = [] { return device.clock += 100'000; }; // a loop that waits for it ends
  functions.switch_off = [] {};
  functions.append_text = [](ThreadLog*, const char* text, std::size_t length) {
    return std::hash<std::string>{}(std::string(text, length));
  };
  return functions;
}

// ---- what measures

class MadeUpMetrics final : public InstructionMetrics {
public:
  Answer begin() noexcept override {
    device.clock += 100 * kMillisecond;
    return {};
  }
  Answer open(std::uint64_t, int, Part part, bool) noexcept override {
    EXPECT_LE(device.free_at, device.clock);
    device.clock += kMillisecond;
    device.patched = true;
    device.part = part;
    device.launched_in_window.clear();
    return {};
  }
  Part part(int) const noexcept override { return device.part; }
  Answer read(std::uint64_t, int, Visit visit, void* data) noexcept override {
    EXPECT_LE(device.free_at, device.clock);
    device.clock += kMillisecond;
    std::uint32_t number = 1;
    for (const auto& [name, launches] : device.launched_in_window) {
      if (device.part == Part::kAll) device.shared_measured[name] += launches;
      device.measured[name] += launches;
      Figures figures{number, number, name.c_str(), 0x80, {}};
      ++number;
      figures.values[0] = launches;
      figures.values[kFirstMemoryMetric] = 4 * launches;
      for (const bool again : {false, true}) visit(data, figures, again);
    }
    return {};
  }
  Answer close(std::uint64_t, int) noexcept override {
    device.patched = false;
    return {};
  }
};

class NoCounters final : public KernelCounters {};

MadeUpMetrics made_up_metrics;
NoCounters no_counters;

} // namespace
} // namespace gmt::interposer::collector
