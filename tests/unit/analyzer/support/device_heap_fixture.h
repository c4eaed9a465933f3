// SPDX-License-Identifier: Apache-2.0
// What tests of device-heap findings share: a trace with one context, two kernels and a log of what
// they did.
#pragma once

#include "tests/unit/analyzer/support/analysis_fixture.h"
#include "tests/unit/analyzer/support/device_log_writer.h"

namespace gmt::test {

inline constexpr std::uint64_t kP = 0x205dff920, kQ = 0x205e00000; // in the device heap

class DeviceHeapTest : public AnalysisTest {
protected:
  static constexpr std::uint64_t kStep = 0xf1, kClean = 0xf2; // kernels, sites 1 and 2

  DeviceHeapTest() {
    expect_only({"device-heap-alignment", "device-heap-double-free", "device-heap-exhausted",
                 "device-heap-freed-elsewhere", "device-heap-high-water",
                 "device-heap-invalid-free", "device-heap-leak", "device-heap-mismatched-free",
                 "heap-mixed", "leak", "double-free", "invalid-free", "api-error", "kernel-fault"});
    log().context(1, 0xc1, 0, true);
    log().name(kStep, "_Z4stepPi");
    log().name(kClean, "_ZN2ns5cleanIiEEvPT_");
    device.site(1, "step", "/src/step.cu", 12);
    device.site(2, "clean", "/src/clean.cu", 20);
    device.site(3, "make_node", "/src/node.h", 5);
  }

  void launch(std::uint64_t function, unsigned blocks, unsigned threads, std::uint64_t from = 0x400,
              std::uint64_t stream = 0) {
    log().record({.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .stack = {from}},
                 Made<trace::LaunchFields>()
                   .function(function)
                   .stream(stream)
                   .grid({blocks, 1, 1})
                   .block({threads, 1, 1}));
  }
  // A launch and its grid, whose ids are equal unless something hid.
  void run_kernel(std::uint64_t function, std::uint64_t grid, std::uint64_t from = 0x400,
                  std::uint64_t stream = 0) {
    launch(function, 4, 64, from, stream);
    device.grid(grid, 4, 64);
  }
  void set_limit(std::uint64_t bytes, std::uint16_t code) {
    log().record(
      {.api = "cuCtxSetLimit", .via = "cudaDeviceSetLimit", .result = code, .stack = {0x500}},
      Made<trace::NoteFields>().first(cuda::kLimitMallocHeapSize).second(bytes));
  }
  // Something that finds the context dead.
  void kill_context(std::uint16_t code) {
    log().record(
      {.api = "cuCtxSynchronize", .via = "cudaDeviceSynchronize", .result = code, .stack = {0x600}},
      Made<trace::SyncFields>().op(trace::SyncOp::kContextSynchronize));
  }

  const WordedAnalysis& run_device() {
    device.drained();
    std::filesystem::create_directories(directory.path() / "trace");
    device.write(directory.path() / "trace");
    return run();
  }

  DeviceLogWriter device;
};

} // namespace gmt::test
