// SPDX-License-Identifier: Apache-2.0
// Writes made-up reports into a folder, a file for each situation and format: ordinary.json,
// ordinary.sarif. Other programs' readers check them.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "analyzer/report/output_format.h"
#include "tests/report/made_up_accesses.h"
#include "tests/report/made_up_executions.h"
#include "tests/report/made_up_timelines.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: report_write_json FOLDER\n", stderr);
    return 2;
  }
  using namespace gmt;
  const struct {
    const char* name;
    Report report;
    OutputOptions options;
    const char* format = nullptr; // the only one
  } situations[] = {
    {"ordinary", test::ordinary(), {}},
    {"clean", test::clean(), {}},
    {"nothing_seen", test::nothing_seen(), {}},
    {"crashed", test::crashed(), {}},
    {"troubled", test::troubled(), {}},
    {"kernels", test::with_kernels(), {}},
    {"accesses", test::with_accesses(), {}},
    {"simulated", test::on_simulated_device(), {}},
    {"tables", test::with_tables(), {}},
    {"short_of_memory", test::short_of_memory(), {}},
    {"hostile", test::hostile(), {}},
    {"many", test::many(300), {}},
    {"too_many", test::many(6000), {}, "sarif"}, // which has a limit
    {"rooted", test::ordinary(), {.source_root = "/src"}},
    {"timelines", test::with_timelines(), {}},
    {"cut_timelines", test::with_timelines(), {.perfetto_size = 4800}},
    {"hostile_timeline", test::with_hostile_timeline(), {}},
    {"limited", test::troubled(), {.color = true, .limit = 1, .stack_depth = 1}},
  };
  for (const OutputInfo* output : outputs()) {
    for (const auto& situation : situations) {
      if (situation.format != nullptr && situation.format != output->id) continue;
      const std::string name = std::string(situation.name) + "." + std::string(output->id);
      std::ofstream out(std::filesystem::path(argv[1]) / name, std::ios::binary);
      Report report = situation.report;
      report.conclusion = conclude(report, {});
      output->write(report, situation.options, out);
      if (!out.flush()) return 1;
    }
  }
  return 0;
}
