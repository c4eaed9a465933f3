// SPDX-License-Identifier: Apache-2.0
// Speed of the analysis, end to end from a trace directory to findings, on one core with all
// detectors (docs/measurements.md):
//   mix:    40 % launches with 6 pointers, 30 % copies, 30 % allocations and frees;
//           at least 5 million events/s
//   churn:  allocations and frees alone; at least 10 million events/s
// Both over 10,000 live blocks and 1 million distinct addresses in 64 logs whose events interleave
// at random, which is the merge's worst case. Traces are written once, under TMPDIR, and read from
// the page cache.
//   analyzer_bench [--benchmark_filter=mix]

#include <benchmark/benchmark.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/trace_reader/event_stream.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {
namespace {

using trace::Kind;

constexpr std::uint64_t kLogs = 64;
constexpr std::uint64_t kLiveBlocks = 10'000;
constexpr std::uint64_t kAddresses = 1'000'000;
constexpr std::uint64_t kStacksPerLog = 200;
constexpr std::uint64_t kFrames = 25;
constexpr std::uint64_t kBase = 0x7f0000000000, kStride = 1 << 16;

// Straight into files: a trace of this size must not pass through vectors.
class Generator {
public:
  explicit Generator(const std::filesystem::path& directory) : random_(42) {
    TraceWriter text;
    for (const char* name :
         {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2",
          "cuLaunchKernel", "cudaMalloc", "cudaFree", "cudaMemcpy"}) {
      text.api(name);
    }
    text.write(directory);
    for (std::uint64_t i = 0; i < kLogs; ++i) {
      logs_.emplace_back(directory / ("t" + std::to_string(i) + "-0.log"), std::ios::binary);
      std::string header(trace::kLogHeaderBytes, '\0');
      trace::LogHeader h{};
      std::copy(std::begin(trace::kLogMagic), std::end(trace::kLogMagic), h.magic);
      h.major = trace::kFormatMajor;
      std::memcpy(header.data(), &h, sizeof h);
      logs_.back() << header;
      for (std::uint64_t s = 1; s <= kStacksPerLog; ++s) {
        std::vector<std::uint64_t> payload{s, kFrames};
        for (std::uint64_t f = 0; f < kFrames; ++f) payload.push_back(0x400000 + s * 64 + f);
        write(logs_.back(), Kind::kStack, 0, trace::kNoApi, 0, payload);
      }
    }
    for (std::uint64_t i = 0; i < kAddresses; ++i) free_.push_back(kBase + i * kStride);
  }

  void churn() {
    if (live_.size() < kLiveBlocks || (random_() & 1) != 0) {
      std::swap(free_[random_() % free_.size()], free_.back());
      live_.push_back(free_.back());
      free_.pop_back();
      event(Kind::kAlloc, 0, 6, 0, {live_.back(), 4096 + random_() % 32768, 1, 0});
    }
    if (live_.size() > kLiveBlocks) {
      std::swap(live_[random_() % live_.size()], live_.back());
      event(Kind::kFree, 1, 7, 0, {live_.back(), 1, 0, 0});
      free_.push_back(live_.back());
      live_.pop_back();
    }
  }

  void copy() {
    const std::uint64_t bytes = 1 + random_() % 2048; // blocks have 4 KiB at least
    const std::uint64_t host = 0x560000000000 + random_() % 1000 * 8192;
    using trace::Side;
    switch (random_() % 3) {
    case 0:
      event(Kind::kCopy, 2, 8, trace::copy_flags(Side::kDevice, Side::kHost, false),
            {any(), host, bytes, 0});
      break;
    case 1:
      event(Kind::kCopy, 3, 8, trace::copy_flags(Side::kHost, Side::kDevice, false),
            {host, any(), bytes, 0});
      break;
    default:
      event(Kind::kCopy, 4, 8, trace::copy_flags(Side::kDevice, Side::kDevice, false),
            {any(), any(), bytes, 0});
    }
  }

  void launch() {
    event(Kind::kLaunch, 5, trace::kNoApi, 0,
          {0xf00 + random_() % 100, 0, 1, 1, any(), any(), any(), any(), any(), any()});
  }

  std::uint64_t events() const { return order_; }
  bool is_full() const { return live_.size() >= kLiveBlocks; }

private:
  // A pointer into a live block: every other one its base.
  std::uint64_t any() {
    const std::uint64_t offset = (random_() & 1) != 0 ? 256 * (random_() % 8) : 0;
    return live_[random_() % live_.size()] + offset;
  }

  void event(Kind kind, std::uint16_t api, std::uint16_t via, std::uint16_t flags,
             const std::vector<std::uint64_t>& payload) {
    ++order_;
    write(logs_[random_() % kLogs], kind, api, via, flags, payload);
  }

  void write(std::ofstream& log, Kind kind, std::uint16_t api, std::uint16_t via,
             std::uint16_t flags, const std::vector<std::uint64_t>& payload) {
    const unsigned slots = trace::slots_for(static_cast<unsigned>(payload.size()));
    trace::Slot slot{};
    slot.head = trace::pack({kind, static_cast<std::uint8_t>(slots), api, flags, 0});
    slot.order = order_;
    slot.time = 1000 * order_;
    slot.stack = static_cast<std::uint32_t>(1 + random_() % kStacksPerLog);
    slot.context = 1;
    slot.via = via;
    std::size_t at = 0;
    for (; at < payload.size() && at < trace::kFirstPayloadWords; ++at) slot.a[at] = payload[at];
    log.write(reinterpret_cast<const char*>(&slot), sizeof slot);
    for (unsigned s = 1; s < slots; ++s) {
      trace::MoreSlot more{};
      more.head = trace::pack({Kind::kMore, 1, 0, 0, 0});
      for (unsigned i = 0; i < trace::kMorePayloadWords && at < payload.size(); ++i)
        more.payload[i] = payload[at++];
      log.write(reinterpret_cast<const char*>(&more), sizeof more);
    }
  }

  std::mt19937_64 random_;
  std::vector<std::ofstream> logs_;
  std::vector<std::uint64_t> free_, live_;
  std::uint64_t order_ = 0;
};

struct Traces {
  TemporaryDirectory directory;
  std::uint64_t mix_events, churn_events;

  Traces() {
    Generator churn(directory.path() / "churn");
    while (churn.events() < 8'000'000) churn.churn();
    churn_events = churn.events();
    Generator mix(directory.path() / "mix");
    std::mt19937 dice(7);
    while (!mix.is_full()) mix.churn();
    while (mix.events() < 6'000'000) {
      // One churn() in the steady state is an allocation and a free every other time: one event on
      // average.
      const auto roll = dice() % 10;
      if (roll < 4) mix.launch();
      else if (roll < 7) mix.copy();
      else mix.churn();
    }
    mix_events = mix.events();
  }
};

const Traces& traces() {
  static const Traces all;
  return all;
}

void run(benchmark::State& state, const std::filesystem::path& trace, std::uint64_t events,
         const AnalysisOptions& options = {}) {
  for (auto _ : state) {
    const Analysis analysis = analyze(trace, options);
    if (analysis.process.totals.events != events) state.SkipWithError("events went missing");
    benchmark::DoNotOptimize(analysis.findings.data());
  }
  state.counters["events/s"] =
    benchmark::Counter(static_cast<double>(events) * static_cast<double>(state.iterations()),
                       benchmark::Counter::kIsRate);
}

void mix(benchmark::State& state) {
  run(state, traces().directory.path() / "mix", traces().mix_events);
}
void churn(benchmark::State& state) {
  run(state, traces().directory.path() / "churn", traces().churn_events);
}

// With what the timeline and the flame graphs of --format html need.
void churn_with_history(benchmark::State& state) {
  AnalysisOptions options;
  options.history.columns = 2048;
  run(state, traces().directory.path() / "churn", traces().churn_events, options);
}

// What reading and merging cost of it.
void read_only(benchmark::State& state) {
  for (auto _ : state) {
    EventStream stream(open_trace(traces().directory.path() / "churn").value());
    std::uint64_t n = 0;
    while (const Event* e = stream.next()) n += e->order != 0;
    benchmark::DoNotOptimize(n);
  }
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(traces().churn_events) *
                                                    static_cast<double>(state.iterations()),
                                                  benchmark::Counter::kIsRate);
}

BENCHMARK(mix)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(churn)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(churn_with_history)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(read_only)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
} // namespace gmt::test

BENCHMARK_MAIN();
