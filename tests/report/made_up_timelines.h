// SPDX-License-Identifier: Apache-2.0
// Reports with timelines made by hand: of two processes with one number, with every kind of event.
#pragma once

#include "tests/report/made_up_reports.h"

namespace gmt::test {

inline Timeline timeline(const std::string& name = "load") {
  Timeline t;
  t.nanoseconds_per_unit = 0.5;
  t.begin_realtime = 1'000'000'000;
  t.begin = 10'000;
  t.end = 90'000;
  t.calls = {"cudaMalloc", name};
  t.kernels = {"_Z5scalePf"};
  t.threads = {{1, "main " + name}, {2, ""}};
  t.slices = {{.begin = 0, .ticks = 2000, .bytes = 4096, .thread = 1},
              {.begin = 3000, .ticks = 400, .thread = 2, .kernel = 0, .call = 1},
              {.begin = 5000, .ticks = 10, .thread = 1, .result = 2, .is_runtime = true},
              {.begin = 80'000, .thread = 1, .call = 1, .result = kResultInFlight}};
  t.counters = {{0, "device memory", {{0, 0}, {2000, 4096}}},
                {-1, "managed memory", {{0, 0}, {4000, 1 << 20}, {4400, 0}}}};
  t.ranges = {{name, 100, 9000, 1, 0, false},
              {"inner", 200, 8000, 1, 1, false},
              {"whole " + name, 0, 50'000, ~std::uint32_t{0}, 0, false},
              {"overlaps", 10'000, 90'000, ~std::uint32_t{0}, 0, true}};
  t.left_out_slices = 12;
  return t;
}

inline Report with_timelines() {
  Report report = ordinary();
  report.processes[0].timeline = timeline();
  report.processes.push_back(process());
  report.processes[1].timeline = timeline("store");
  report.processes[1].timeline->begin_realtime += 2000;
  report.processes[1].timeline->left_out_slices = 0;
  report.findings[0].moment = Moment{.time = 12'000, .thread = 1};
  return report;
}

inline Report with_hostile_timeline() {
  Report report = hostile();
  report.processes[0].timeline = timeline("\xff \"\\\n</script><b>\x01");
  report.processes[0].timeline->nanoseconds_per_unit = 0;
  return report;
}

} // namespace gmt::test
