// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/live/followed_process.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "analyzer/base/expected.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/report/formats/json_values.h"
#include "analyzer/report/shared/call_site.h"
#include "analyzer/report/shared/module_path.h"

namespace gmt {
namespace {

constexpr int kSchema = 1;

} // namespace

FollowedProcess::FollowedProcess(TracedProcess process, Suppressions suppressions)
    : process_(std::move(process)), suppressions_(std::move(suppressions)) {}

FollowedProcess::FollowedProcess(const TraceHead& trace, Suppressions suppressions)
    : suppressions_(std::move(suppressions)) {
  open(trace);
}

void FollowedProcess::open(const TraceHead& trace) {
  follower_.emplace(open_trace(trace).value());
  follower_->watch(span_);
  symbols_.emplace(*follower_);
}

void FollowedProcess::poll() {
  if (!follower_) {
    if (const std::optional<TraceHead> trace = process_->find()) open(*trace);
  }
  if (follower_) follower_->poll();
}

void FollowedProcess::begin() {
  if (follower_) follower_->take_findings();
  findings_.clear();
  span_.begin(newest_order());
}

FollowedProcess::Json FollowedProcess::process_json() const {
  const Totals totals = follower_ ? follower_->totals() : Totals();
  return {{"schema", kSchema},
          {"trace", follower_ ? Json(follower_->trace().path.string()) : Json(nullptr)},
          {"ended", follower_ && follower_->has_ended()},
          {"events", totals.events},
          {"live_bytes", totals.live_bytes},
          {"peak_bytes", totals.peak_bytes}};
}

FollowedProcess::Json FollowedProcess::json_of(const ReportedFinding& finding) const {
  Report report;
  report.processes.emplace_back().pid = follower_->trace().info.pid;
  return json::finding_json(finding, report, 0);
}

FollowedProcess::Json FollowedProcess::span_json() {
  const auto is_of_span = [this](const Block& block) { return span_.contains(block); };
  Json json = process_json();
  json["span"] = {{"live_bytes", span_.live_bytes()},
                  {"peak_bytes", span_.peak_bytes()},
                  {"tensor_bytes", span_.tensor_bytes()},
                  {"tensor_peak_bytes", span_.tensor_peak_bytes()}};
  json["tensors"] = follower_ ? tensors_json(is_of_span) : Json::array();
  Json& findings = json["findings"] = Json::array(); // the last one, as others would move it
  if (!follower_) return json;
  std::ranges::move(follower_->take_findings(), std::back_inserter(findings_));
  std::vector<Finding> all = findings_; // more may come
  for (const LiveBlocks& blocks : live_blocks(follower_->heap(), is_of_span))
    all.push_back(unfreed(blocks, follower_->model()));
  if (all.empty()) return json;
  for (const ReportedFinding& finding : reported_findings(std::move(all), *symbols_, suppressions_))
    findings.push_back(json_of(finding));
  return json;
}

// The file of each symbol is read once for all of them.
FollowedProcess::Json FollowedProcess::rows_of(std::vector<LiveBlocks> all, const AddTo& add) {
  Json rows = Json::array();
  std::ranges::stable_sort(all, std::ranges::greater{}, &LiveBlocks::bytes);
  for (const LiveBlocks& one : all) symbols_->want(one.example.allocated);
  if (!all.empty()) symbols_->resolve();
  for (const LiveBlocks& one : all) {
    std::vector<Finding> finding;
    finding.push_back(unfreed(one, follower_->model()));
    Suppressions none;
    for (const ReportedFinding& reported : reported_findings(std::move(finding), *symbols_, none)) {
      const Json whole = json_of(reported);
      Json row = {{"bytes", one.bytes},
                  {"blocks", one.blocks},
                  {"device", one.device < 0 ? Json(nullptr) : Json(one.device)},
                  {"stack", whole["stacks"][0]}};
      add(row, one, reported, whole);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

FollowedProcess::Json
FollowedProcess::tensors_json(const std::function<bool(const Block&)>& filter) {
  return rows_of(
    live_tensors(follower_->heap(), filter),
    [this](Json& row, const LiveBlocks&, const ReportedFinding& reported, const Json&) {
      const std::string_view keeper = keeper_of_tensor(reported.stacks[0]);
      row["owner"] = keeper.empty() ? Json(nullptr) : Json(keeper);
      row["model_part"] = json::text_or_null(module_path(reported.stacks[0], symbols_->sources()));
    });
}

FollowedProcess::Json FollowedProcess::snapshot_json() {
  Json json = process_json();
  json["tensors"] = follower_ ? tensors_json([](const Block&) { return true; }) : Json::array();
  json["blocks"] = Json::array();
  if (!follower_) return json;
  const auto is_alive = [](const Block& block) { return block.end == Block::End::kAlive; };
  json["blocks"] =
    rows_of(live_blocks(follower_->heap(), is_alive),
            [](Json& row, const LiveBlocks& one, const ReportedFinding&, const Json& whole) {
              row["family"] = memory_noun(one.example.memory_kind);
              row["range"] = whole["range"];
              row["owner"] = whole["owner"];
            });
  return json;
}

} // namespace gmt
