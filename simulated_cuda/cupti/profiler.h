// SPDX-License-Identifier: Apache-2.0
// What the parts of the simulated CUPTI share: its state, and calls of the driver made as CUPTI
// makes them.
#pragma once

#include "simulated_cuda/cupti/figures.h"

#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace gmt::sim {

struct Window {
  bool enabled = false;
  std::uint32_t device = 0;
  std::map<std::string, std::uint64_t> launches; // since it was enabled or read
};

struct Profiler {
  std::mutex mutex;
  bool initialized = false;
  bool knows_modules = false; // see cuptiEnableCallback
  std::string only_function;  // what is measured without
  // By device: the metrics that were asked for.
  std::map<std::uint32_t, std::set<std::uint64_t>> configured;
  std::map<CUcontext, Window> windows;
  Figures figures = read_figures();
};

Profiler& profiler();

bool wait_for(CUcontext context); // whatever the context has to do
// range_profiler.cpp; under the profiler's mutex
void count_in_range(CUcontext context, const char* kernel);

} // namespace gmt::sim
