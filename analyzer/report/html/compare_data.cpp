// SPDX-License-Identifier: Apache-2.0
// Call stacks of the two runs are equal if the names of their functions are: lines and addresses
// differ from build to build.

#include "analyzer/report/html/compare_data.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/base/path.h"
#include "analyzer/base/text_format.h"
#include "analyzer/report/fingerprint.h"
#include "analyzer/report/formats/tool_words.h"

namespace gmt::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostStacks = 2000; // by the larger of their figures at the peak

struct Figures {
  std::uint64_t peak_bytes = 0, live_bytes = 0, allocated_bytes = 0, allocations = 0;
};
using Path = std::vector<std::string>;                 // innermost first
using Stacks = std::map<Path, std::array<Figures, 2>>; // before and after

std::string name_of(const Frame& frame) {
  if (frame.tail_call) return "(tail call)";
  if (!frame.function.empty()) return frame.function;
  if (frame.module.empty()) return format_address(frame.address);
  return cat({base_name(frame.module), "+", format_address(frame.module_offset)});
}

Path path_of(const CallStack& stack) {
  Path path;
  for (const Frame& frame : stack.frames) path.push_back(name_of(frame));
  if (path.empty()) path.emplace_back("(no call stack was recorded)");
  return path;
}

bool knows_all_stacks(const Report& report) {
  return std::ranges::any_of(report.processes,
                             [](const ProcessReport& p) { return !p.stacks.empty(); });
}

void add_stacks(const Report& report, std::size_t side, bool all, Stacks& stacks) {
  for (const ProcessReport& process : report.processes) {
    if (!all) {
      for (const MemoryTables::Holder& holder : process.tables.holders)
        stacks[path_of(holder.stack)][side].peak_bytes += holder.bytes;
      continue;
    }
    for (const StackMemory& memory : process.stacks) {
      Figures& figures = stacks[path_of(memory.stack)][side];
      figures.peak_bytes += memory.peak_bytes;
      figures.live_bytes += memory.live_bytes;
      figures.allocated_bytes += memory.allocated_bytes;
      figures.allocations += memory.allocations;
    }
  }
}

Json json_of(const Figures& figures) {
  return {{"peak_bytes", figures.peak_bytes},
          {"live_bytes", figures.live_bytes},
          {"allocated_bytes", figures.allocated_bytes},
          {"allocations", figures.allocations}};
}

class Names {
public:
  std::size_t number_of(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, list_.size());
    if (is_new) list_.push_back(name);
    return at->second;
  }
  Json take() { return std::move(list_); }

private:
  std::map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

Json stacks_of(const Stacks& stacks, Names& names) {
  std::vector<const Stacks::value_type*> order;
  for (const auto& entry : stacks) order.push_back(&entry);
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const Stacks::value_type* entry) {
    const auto& [before, after] = entry->second;
    return std::pair(std::max(before.peak_bytes, after.peak_bytes),
                     std::max(before.allocated_bytes, after.allocated_bytes));
  });
  if (order.size() > kMostStacks) order.resize(kMostStacks);
  Json list = Json::array();
  for (const Stacks::value_type* entry : order) {
    Json frames = Json::array();
    for (const std::string& name : entry->first) frames.push_back(names.number_of(name));
    list.push_back({{"frames", std::move(frames)},
                    {"before", json_of(entry->second[0])},
                    {"after", json_of(entry->second[1])}});
  }
  return list;
}

Json sizes_of(std::uint64_t count, std::uint64_t bytes) {
  return {{"count", count}, {"bytes", bytes}};
}

Json findings_of(const ReportDiff& diff) {
  Json list = Json::array();
  for (std::size_t i = 0; i < diff.changed.size(); ++i) {
    const ReportedFinding& finding = diff.changed[i];
    const bool has_grown = finding.baseline == BaselineState::kGrown;
    list.push_back(
      {{"state", has_grown ? "grown" : "new"},
       {"kind", finding.kind},
       {"severity", tools::severity_word(finding.severity)},
       {"fingerprint", finding.fingerprint},
       {"functions", identity_of(finding)},
       {"before", has_grown ? sizes_of(diff.before[i].count, diff.before[i].bytes) : Json(nullptr)},
       {"after", sizes_of(finding.count, finding.bytes)}});
  }
  for (const BaselineFinding& finding : diff.gone) {
    list.push_back({{"state", "gone"},
                    {"kind", finding.kind},
                    {"severity", tools::severity_word(finding.severity)},
                    {"fingerprint", finding.fingerprint},
                    {"functions", Json::array({finding.functions})},
                    {"before", sizes_of(finding.count, finding.bytes)},
                    {"after", nullptr}});
  }
  return list;
}

Json sentences_of(const std::vector<Failure>& failures) {
  Json list = Json::array();
  for (const Failure& failure : failures) list.push_back(failure.sentence);
  return list;
}

} // namespace

Json compare_data(const ComparedRun& before, const ComparedRun& after, const ReportDiff& diff) {
  const bool all = knows_all_stacks(before.report) && knows_all_stacks(after.report);
  Stacks stacks;
  add_stacks(before.report, 0, all, stacks);
  add_stacks(after.report, 1, all, stacks);
  Names names;
  Json list = stacks_of(stacks, names);
  return {{"before", before.name},
          {"after", after.name},
          {"failures_before", sentences_of(diff.failures_before)},
          {"failures_after", sentences_of(diff.failures_after)},
          {"unchanged", diff.unchanged},
          {"findings", findings_of(diff)},
          {"peak_bytes", {diff.peak_before, diff.peak_after}},
          {"live_bytes", {diff.live_before, diff.live_after}},
          {"all_stacks", all},
          {"stacks", std::move(list)},
          {"left_out_stacks", stacks.size() - std::min(stacks.size(), kMostStacks)},
          {"names", names.take()}};
}

} // namespace gmt::html
