// SPDX-License-Identifier: Apache-2.0
// Threads that launch kernels and graphs, capture and wait while windows open and are read, on a
// made-up device whose work ends by itself a little later. Opening and reading must never meet work
// or a capture, or a launch while they last; no graph is launched in a window; every launch is
// counted once.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/profiler.h"
#include "interposer/coalescing/collector/windows/sums.h"
#include "tests/unit/interposer/coalescing/made_up_core.h"

namespace gmt::interposer::collector {
namespace {

using What = DriverCall::What;
using namespace std::chrono_literals;

// ---- the device

constexpr unsigned kStreams = 16;
constexpr std::uint64_t kKernel = 0x1234500;
std::array<std::atomic<int>, kStreams> pending; // work that has not ended
std::atomic<int> running{0};                    // sum of them
std::atomic<bool> enabled{false};
std::atomic<std::uint64_t> launched_in_window{0}, read_launches{0}, lost_launches{0};
std::atomic<int> met_work{0}, met_captures{0}, readings{0}, graphs_in_windows{0};
std::atomic<int> capturing{0}; // threads
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> launched_while_counting{0};
std::atomic<int> countings{0};
unsigned counted_pass = 0; // by the counting that is open

void finish_work(const std::atomic<bool>& end) {
  while (!end.load()) {
    for (auto& stream : pending) {
      if (stream.load() == 0) continue;
      running.fetch_sub(1);
      stream.fetch_sub(1); // last: who finds the stream idle finds nothing running
    }
    std::this_thread::sleep_for(50us);
  }
}

int stream_query(std::uint64_t stream) {
  return pending.at(stream - kFirstStream).load() == 0 ? 0 : 600;
}
int is_capturing(std::uint64_t, int* status) { return *status = 0; }
int exchange_mode(int* mode) { return *mode = 0; }
int get_device(int* device) { return *device = 0; }
int get_name(const char** name, std::uint64_t) {
  *name = "kernel";
  return 0;
}

void* driver_symbol(const char* name) {
  const std::string wanted = name;
  if (wanted == "cuStreamQuery") return reinterpret_cast<void*>(&stream_query);
  if (wanted == "cuStreamIsCapturing") return reinterpret_cast<void*>(&is_capturing);
  if (wanted == "cuThreadExchangeStreamCaptureMode") return reinterpret_cast<void*>(&exchange_mode);
  if (wanted == "cuCtxGetDevice") return reinterpret_cast<void*>(&get_device);
  if (wanted == "cuFuncGetName") return reinterpret_cast<void*>(&get_name);
  return nullptr;
}

// ---- the core

trace::Slot* only(trace::Kind kind) {
  trace::Slot* found = nullptr;
  for (Record& record : records) {
    if (record.kind != kind) continue;
    EXPECT_EQ(found, nullptr);
    found = record.slots.data();
  }
  return found;
}

const CoreFunctions& made_up_core() {
  static CoreFunctions functions = core_functions();
  functions.driver_symbol = driver_symbol;
  functions.now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };
  functions.switch_off = [] { ADD_FAILURE() << "CUPTI was given up"; };
  functions.append_text = [](ThreadLog*, const char*, std::size_t) { return std::uint64_t{7}; };
  return functions;
}

// One launch as Entry makes it: before(), the launch, after().
void launch(const CollectorFunctions& collector, unsigned stream, bool fails, bool slowly) {
  const DriverCall call{What::kLaunch, kFirstStream + stream, kKernel};
  const std::uint64_t token = collector.before(call);
  if (slowly) std::this_thread::sleep_for(100us); // the driver has not put it on the stream yet
  if (!fails) {
    if (enabled.load()) launched_in_window.fetch_add(1);
    if (counting.load()) launched_while_counting.fetch_add(1);
    running.fetch_add(1);
    pending[stream].fetch_add(1);
  }
  collector.after(call, token, !fails);
}

void launch_graph(const CollectorFunctions& collector, unsigned stream) {
  constexpr std::uint64_t kGraph = 0x9a0;
  const DriverCall call{What::kGraphLaunch, kFirstStream + stream, kGraph};
  const std::uint64_t token = collector.before(call);
  if (enabled.load()) graphs_in_windows.fetch_add(1);
  running.fetch_add(1);
  pending[stream].fetch_add(1);
  if (enabled.load()) graphs_in_windows.fetch_add(1); // opened between the two
  collector.after(call, token, true);
}

void capture(const CollectorFunctions& collector, std::uint64_t stream) {
  const DriverCall begin{What::kBeginCapture, stream}, end{What::kEndCapture, stream};
  const std::uint64_t begun = collector.before(begin);
  capturing.fetch_add(1);
  collector.after(begin, begun, true);
  std::this_thread::sleep_for(500us);
  const std::uint64_t ended = collector.before(end);
  capturing.fetch_sub(1);
  collector.after(end, ended, true);
}

void look_for_captures() {
  if (capturing.load() != 0) met_captures.fetch_add(1);
}

void wait_for_stream(const CollectorFunctions& collector, unsigned stream) {
  const DriverCall call{What::kSynchronized};
  const std::uint64_t token = collector.before(call);
  while (pending[stream].load() != 0) std::this_thread::sleep_for(20us);
  if (token != 0) collector.after(call, token, true);
}

// ---- what measures

class MadeUpMetrics final : public InstructionMetrics {
public:
  Answer begin() noexcept override { return {}; }
  Answer open(std::uint64_t, int, Part part, bool) noexcept override {
    part_ = part;
    look_for_captures();
    if (running.load() != 0)
      met_work.fetch_add(1); // launched before: it is not known whether they would count
    EXPECT_FALSE(enabled.exchange(true));
    launched_in_window.store(0);
    return {};
  }
  Part part(int) const noexcept override { return part_; }
  Answer read(std::uint64_t, int, Visit visit, void* data) noexcept override {
    if (running.load() != 0) met_work.fetch_add(1);
    std::this_thread::sleep_for(100us);
    look_for_captures();
    if (running.load() != 0)
      met_work.fetch_add(1); // a thread launched meanwhile: we would wait for that, too
    const std::uint64_t launches = launched_in_window.exchange(0);
    read_launches.fetch_add(launches);
    readings.fetch_add(1);
    Figures figures{1, 2, "kernel", 0x80, {}};
    figures.values[0] = launches;
    figures.values[kFirstMemoryMetric] = 4 * launches;
    for (const bool again : {false, true}) visit(data, figures, again);
    return {};
  }
  Answer close(std::uint64_t, int) noexcept override {
    look_for_captures();
    EXPECT_TRUE(enabled.exchange(false));
    lost_launches.fetch_add(launched_in_window.exchange(0));
    return {};
  }

private:
  Part part_ = Part::kAll;
};

class MadeUpCounters final : public KernelCounters {
public:
  Answer begin(std::uint64_t, int, unsigned& pass, CUpti_RangeProfiler_Object*&) noexcept override {
    counted_pass = pass;
    if (running.load() != 0) met_work.fetch_add(1);
    EXPECT_FALSE(enabled.load());
    EXPECT_FALSE(counting.exchange(true));
    launched_while_counting.store(0);
    return {};
  }
  Answer end(int, CUpti_RangeProfiler_Object*, Figures* figures) noexcept override {
    if (running.load() != 0) met_work.fetch_add(1);
    EXPECT_TRUE(counting.exchange(false));
    if (figures == nullptr) return {};
    const unsigned word = counted_pass == 0 ? 0 : kFigures - 1;
    figures->sums[word] = launched_while_counting.load();
    figures->counted = 1u << word;
    countings.fetch_add(1);
    return {};
  }
};

MadeUpMetrics made_up_metrics;
MadeUpCounters made_up_counters;

TEST(CollectorThreads, ReadingMeetsNoWorkAndEveryLaunchCountsOnce) {
  constexpr unsigned kThreads = 8, kLaunches = 1500;
  std::strcpy(options.coalescing_launches, "all");
  options.counters = 1;
  const CollectorFunctions& collector =
    *begin_collector(made_up_core(), {&made_up_metrics, &made_up_counters});
  std::atomic<bool> end{false};
  std::thread device([&end] { finish_work(end); });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&collector, t] {
      for (unsigned i = 0; i < kLaunches; ++i) {
        const unsigned stream = t + (i % 3 == 0 ? kThreads : 0);
        launch(collector, stream, i % 50 == 49, i % 7 == 0);
        if (i % 200 == 150) launch_graph(collector, stream);
        if (t < 2 && i % 300 == 200)
          capture(collector, 1000 + t); // a stream that has no other work
        if (i % 10 == 9) wait_for_stream(collector, stream);
        if (i % 100 == 99) std::this_thread::sleep_for(2ms); // a moment in which all may be idle
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned stream = 0; stream < kStreams; ++stream) wait_for_stream(collector, stream);
  // Launches that meet no other: some are measured and some counted, whatever came before
  constexpr unsigned kAtRest = 6;
  for (unsigned i = 0; i < kAtRest; ++i) {
    launch(collector, 0, false, false);
    wait_for_stream(collector, 0);
  }
  end = true;
  device.join();

  EXPECT_EQ(met_work.load(), 0);
  EXPECT_EQ(met_captures.load(), 0);
  EXPECT_EQ(graphs_in_windows.load(), 0);
  EXPECT_GE(readings.load(), 1); // at the end at the latest; before, as the threads happen to meet
  constexpr std::uint64_t kGood = kThreads * kLaunches * 49 / 50 + kAtRest;
  const trace::Slot* windows = only(trace::Kind::kAccessWindows);
  const trace::Slot* function = only(trace::Kind::kAccessFunction);
  const trace::Slot* instruction = only(trace::Kind::kAccessInstruction);
  ASSERT_TRUE(windows != nullptr && function != nullptr && instruction != nullptr);
  EXPECT_EQ(word_of(windows, WindowsWord::launches), kGood);
  EXPECT_EQ(word_of(function, FunctionWord::launches), kGood);
  EXPECT_EQ(word_of(windows, WindowsWord::graph_launches), kThreads * (kLaunches / 200));
  EXPECT_EQ(word_of(windows, WindowsWord::graphs_in_windows), 0u);
  EXPECT_EQ(word_of(windows, WindowsWord::launches_read), read_launches.load());
  EXPECT_EQ(word_of(function, FunctionWord::measured), read_launches.load());
  EXPECT_EQ(word_of(instruction, InstructionWord::sectors), 4 * read_launches.load());
  EXPECT_EQ(word_of(instruction, InstructionWord::executions), read_launches.load());
  EXPECT_EQ(lost_launches.load(), word_of(windows, WindowsWord::launches_given_up));
  // A launch that was counted was alone: its kernel and nothing else.
  EXPECT_GE(countings.load(), 1);
  const trace::Slot* counters = only(trace::Kind::kAccessCounters);
  ASSERT_NE(counters, nullptr);
  const std::uint64_t first = word_of(counters, CountersWord::first_pass),
                      second = word_of(counters, CountersWord::second_pass);
  EXPECT_EQ(first + second, static_cast<std::uint64_t>(countings.load()));
  EXPECT_EQ(word_of(counters, CountersWord::read_bytes), first);
  EXPECT_EQ(word_of(counters, CountersWord::l2_hits), second);
  EXPECT_EQ(word_of(windows, WindowsWord::counted) - word_of(windows, WindowsWord::counted_lost),
            countings.load());
}

} // namespace
} // namespace gmt::interposer::collector
