// SPDX-License-Identifier: Apache-2.0
// How fast PTX is read: a module without its code, the code, and what follows from it. Bytes are
// those of the fixtures in tests/executor/ptx.

#include <benchmark/benchmark.h>

#include "simulated_cuda/executor/program/slots.h"
#include "tests/unit/ptx/support/ptx_fixtures.h"

namespace {

using namespace gmt::ptx;

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> found;
    for (const auto& path : test::fixtures()) found.push_back(test::read_fixture(path));
    return found;
  }();
  return all;
}

void read_modules(benchmark::State& state) {
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const std::string& text : texts()) {
      const Module module = parse_module(text);
      benchmark::DoNotOptimize(module.functions().size());
      bytes += static_cast<std::int64_t>(text.size());
    }
  }
  state.SetBytesProcessed(bytes);
}

template <bool kWithSlots> void read_bodies(benchmark::State& state) {
  std::vector<Module> modules;
  for (const std::string& text : texts()) modules.push_back(parse_module(text));
  std::int64_t bytes = 0;
  for (auto _ : state) {
    for (const Module& module : modules) {
      for (const Function& function : module.functions()) {
        if (!function.has_body) continue;
        const Body body = parse_body(module, function);
        if (kWithSlots)
          benchmark::DoNotOptimize(
            gmt::executor::allocate_slots(body, flow_of(module, body)).of.size());
        bytes += function.body_end - function.body_begin;
      }
    }
  }
  state.SetBytesProcessed(bytes);
}

BENCHMARK(read_modules)->Unit(benchmark::kMillisecond);
BENCHMARK(read_bodies<false>)->Unit(benchmark::kMillisecond);
BENCHMARK(read_bodies<true>)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
