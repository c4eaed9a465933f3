// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/checks/launch_reports.h"

#include "simulated_cuda/executor/machine/earlier_launches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace gmt::executor {
namespace {

// Which code a location is in: its lines, or without line information the instruction.
std::string code_of(const Location& location) {
  std::string code = location.function;
  if (location.lines.empty())
    return code + ":" + std::to_string(location.ptx_line) + " " + location.instruction;
  for (const SourceLine& line : location.lines)
    code += " " + line.function + " " + line.file + ":" + std::to_string(line.line);
  return code;
}

using Reported = std::pair<Moment, Report>;

constexpr const char* kNotWaitedFor = "not waited for";

// Two lines race with each other whichever thread comes first: one report, the earliest, counts
// both ways. Within one line the load and the store of a thread race with the same threads: they
// are one as well, and count once.
void join_swapped_races(std::vector<Reported>& reports) {
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  std::vector<Reported> joined;
  for (Reported& each : reports) {
    Report& report = each.second;
    const bool is_global = report.kind == ReportKind::kGlobalRace;
    if ((report.kind == ReportKind::kSharedRace || is_global) && report.has_other) {
      const std::string kind =
        is_global || report.message == "volatile" ? report.message + " " : "";
      const std::string here = kind + code_of(report.location),
                        there = kind + code_of(report.other);
      const auto swapped = known.find({there, here});
      if (swapped != known.end() && (here != there || !report.location.lines.empty())) {
        Report& first = joined[swapped->second].second;
        if (here != there) first.count += report.count;
        else first.count = std::max(first.count, report.count);
        // That a copy goes on says more than that it met an access
        if (report.message == kNotWaitedFor && first.message != report.message) {
          report.count = first.count;
          first = std::move(report);
        }
        if (first.message.empty()) first.message = report.message;
        continue;
      }
      known.try_emplace({here, there}, joined.size());
    }
    joined.push_back(std::move(each));
  }
  reports = std::move(joined);
}

// Where a store's race is a mistake, it says nothing more that others of it are no harm.
void drop_habits_of_mistakes(std::vector<Reported>& reports) {
  std::set<std::string> mistakes;
  const auto is_habit = [](const Report& report) {
    return !report.message.empty() && !names_launch(report.message);
  };
  for (const auto& [moment, report] : reports) {
    if (report.kind == ReportKind::kGlobalRace && !is_habit(report))
      mistakes.insert(code_of(report.location));
  }
  std::erase_if(reports, [&](const Reported& each) {
    const Report& report = each.second;
    return report.kind == ReportKind::kGlobalRace && is_habit(report) &&
           mistakes.contains(code_of(report.location));
  });
}

} // namespace

ReportSink& LaunchReports::of_worker(std::size_t worker) {
  while (workers_.size() <= worker)
    workers_.push_back(std::make_unique<Reports>(program_, launch_, queue_, workers_.empty()));
  return *workers_[worker];
}

void LaunchReports::finish(std::uint64_t last) {
  queue_.deliver();
  struct Merged {
    const Reports::Entry* earliest = nullptr;
    std::uint64_t times = 0;
  };
  std::map<Reports::Key, Merged> merged;
  std::vector<std::pair<Moment, std::string>> messages;
  for (const auto& worker : workers_) {
    for (const auto& [key, entry] : worker->entries()) {
      if (entry.first.block > last) continue;
      Merged& all = merged[key];
      all.times += entry.times(last);
      if (all.earliest == nullptr || entry.first < all.earliest->first) all.earliest = &entry;
    }
    for (const auto& message : worker->messages()) {
      if (message.first.block <= last) messages.push_back(message);
    }
  }
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::sort(messages.begin(), messages.end(), earlier);
  for (const auto& [moment, text] : messages) observer_.print_error(text);
  std::vector<Reported> reports;
  for (const auto& [key, all] : merged) {
    reports.emplace_back(all.earliest->first, all.earliest->report);
    reports.back().second.count = all.times;
  }
  std::sort(reports.begin(), reports.end(), earlier);
  join_swapped_races(reports);
  drop_habits_of_mistakes(reports);
  for (const auto& [moment, report] : reports) observer_.report(report);
}

} // namespace gmt::executor
