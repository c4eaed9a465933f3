// SPDX-License-Identifier: Apache-2.0
// Kernels on the simulated device: how many launches ran, and how true their results are to a
// GPU's. Of several processes the sums are shown.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "analyzer/base/text_format.h"
#include "analyzer/report/formats/text_layout.h"

namespace gmt::text {
namespace {

using Feature = Executions::Feature;
using trace::ExecutionOp;

std::string launches_in_words(std::uint64_t launches) {
  return format_count(launches) + (launches == 1 ? " launch" : " launches");
}

// What became of those that did not run to their end.
std::string others_in_words(const LaunchCounts& launches) {
  std::string text;
  const std::uint64_t listed = launches.unable + launches.left_out;
  const bool are_all_listed = listed == launches.all - std::min(launches.ran, launches.all);
  if (are_all_listed) return "; the others stand under \"not checked\"";
  if (listed != 0) text += fmt::format("; {} stand under \"not checked\"", format_count(listed));
  if (launches.cut_short != 0)
    text +=
      fmt::format("; {} when the process ended",
                  launches.cut_short == 1 ? std::string("one was running")
                                          : format_count(launches.cut_short) + " were running");
  if (const std::uint64_t unknown = launches.unknown(); unknown != 0)
    text += fmt::format("; of {} the record is lost", format_count(unknown));
  return text;
}

// What ran of the kernels, in half a sentence.
std::string in_words(const LaunchCounts& launches, std::uint64_t stopped) {
  if (launches.all == 0) return ", and no kernel was launched";
  const std::string all = launches_in_words(launches.all);
  if (launches.ran == 0 && stopped == 0 && launches.cut_short == 0) {
    return fmt::format("; kernels were not run ({} skipped), so this report knows only what the "
                       "program asked of CUDA",
                       all);
  }
  if (launches.ran == launches.all) return fmt::format("; kernels ran on the processor ({})", all);
  return fmt::format("; kernels ran on the processor ({} of {} to the end{})",
                     format_count(launches.ran), all, others_in_words(launches));
}

Executions sum_of(const Report& report) {
  Executions sum;
  for (const ProcessReport& process : report.processes) {
    if (!process.executions) continue;
    sum.any = true;
    sum.ran += process.executions->ran;
    sum.thread_instructions += process.executions->thread_instructions;
    sum.left_out.insert(sum.left_out.end(), process.executions->left_out.begin(),
                        process.executions->left_out.end());
    for (const Feature& feature : process.executions->features) {
      auto known = std::ranges::find(sum.features, feature.name, &Feature::name);
      if (known == sum.features.end()) {
        sum.features.push_back(feature);
        continue;
      }
      known->instructions += feature.instructions;
      known->launches += feature.launches;
    }
  }
  std::ranges::stable_sort(sum.features, {}, &Feature::difference);
  return sum;
}

} // namespace

std::string device_line(const Report& report, const Page& page) {
  const std::optional<LaunchCounts>& launches = report.conclusion.launches;
  if (!launches) return "";
  std::uint64_t seed = 0, late = 0, stopped = 0;
  for (const ProcessReport& process : report.processes) {
    if (!process.executions) continue;
    seed = std::max(seed, process.executions->seed);
    late = std::max(late, process.executions->late);
    stopped += process.executions->launches_left_out(ExecutionOp::kStopped);
  }
  const std::string order =
    seed == 0 ? "" : fmt::format(", in the order of --device-seed {}", seed);
  const std::string lateness = late == 0
                                 ? ""
                                 : fmt::format(", asynchronous work up to {:g} s late (--late)",
                                               static_cast<double>(late) / 1e9);
  return wrap("simulated device: no GPU took part" + in_words(*launches, stopped) + order +
                lateness,
              2, 2, page.width);
}

std::string fidelity_table(const Report& report, TableChoice choice, const Page& page) {
  const Executions sum = sum_of(report);
  if (choice == TableChoice::kNone || !sum.any) return "";
  Table table{{"kernels, against a GPU's results", "launches", "instructions of threads"}, {}};
  for (const Feature& feature : sum.features) {
    table.rows.push_back(
      {printable(fmt::format("{}: {}", feature.name, gmt::in_words(feature.difference))),
       format_count(feature.launches),
       feature.instructions != 0 ? format_count(feature.instructions) : "-"});
  }
  const bool all_exact = sum.features.empty() && sum.left_out.empty();
  table.rows.push_back({sum.features.empty() ? "exact" : "all other instructions: exact",
                        format_count(sum.ran), format_count(sum.exact_instructions())});
  const auto add_left_out = [&](ExecutionOp op, const char* name) {
    if (const std::uint64_t launches = sum.launches_left_out(op); launches != 0)
      table.rows.push_back({name, format_count(launches), "-"});
  };
  add_left_out(ExecutionOp::kStopped, "stopped in the middle: its results are half written");
  add_left_out(ExecutionOp::kNotRun, "not run: its results are missing");
  add_left_out(ExecutionOp::kNotSelected, "not selected by --kernel-launches");
  if (all_exact && choice != TableChoice::kAll) return "";
  return lines_of(table, table.rows.size(), 0, page.width);
}

} // namespace gmt::text
