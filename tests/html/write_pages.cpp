// SPDX-License-Identifier: Apache-2.0
// Writes made-up reports into a folder, each as a page and as JSON: NAME.html and NAME.json.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "analyzer/report/output_format.h"
#include "tests/html/training.h"
#include "tests/report/made_up_accesses.h"
#include "tests/report/made_up_executions.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_pages FOLDER\n", stderr);
    return 2;
  }
  using namespace gmt;
  const std::filesystem::path folder = std::filesystem::absolute(argv[1]);
  const Report training = test::training_report(folder);
  Report hostile = training;
  test::make_hostile(hostile);
  Report ranks = test::ranks(6);
  ranks.findings.erase(ranks.findings.begin() + 4);
  ranks.findings.push_back(test::double_free());
  ranks.findings.back().process = 3;
  ranks.processes[2].totals.peak_bytes *= 3;
  std::swap(ranks.processes[0], ranks.processes[5]);
  const struct {
    const char* name;
    const Report report;
  } pages[] = {
    {"training", training},
    {"hostile", hostile},
    {"clean", test::clean()},
    {"nothing_seen", test::nothing_seen()},
    {"crashed", test::crashed()},
    {"troubled", test::troubled()},
    {"accesses", test::with_accesses()},
    {"kernels", test::with_kernels()},
    {"simulated", test::on_simulated_device()},
    {"bad_text", test::hostile()},
    {"short_of_memory", test::short_of_memory()},
    {"ranks", ranks},
  };
  for (const OutputInfo* output : outputs()) {
    if (output->id != "html" && output->id != "json") continue;
    for (const auto& page : pages) {
      std::ofstream out(folder / (std::string(page.name) + "." + std::string(output->id)),
                        std::ios::binary);
      Report report = page.report;
      report.conclusion = conclude(report, {});
      output->write(report, {}, out);
      if (!out.flush()) return 1;
    }
  }
  return 0;
}
