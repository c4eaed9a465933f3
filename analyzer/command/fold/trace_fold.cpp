// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/fold/trace_fold.h"

#include <algorithm>
#include <utility>

#include "analyzer/command/fold/fold_walk.h"
#include "analyzer/command/fold/log_folder.h"
#include "analyzer/trace_reader/packed_log.h"
#include "analyzer/trace_reader/trace_dir.h"
#include "trace/other_names.h"

namespace gmt {

namespace fs = std::filesystem;

TraceFold::TraceFold(const fs::path& trace, std::vector<PackedFile> files,
                     std::set<std::string> found)
    : trace_(trace), files_(std::move(files)), found_(std::move(found)) {
  Expected<TraceDir> opened = open_trace(trace);
  if (!opened) return;
  const auto& apis = (*opened).apis;
  const auto name = std::ranges::find(apis, trace::kOtherName_unrecordedCalls);
  if (name == apis.end()) return; // another version's
  api_ = static_cast<std::uint16_t>(name - apis.begin());
  std::vector<fs::path> logs;
  std::uint64_t last = 0;
  for (const PackedFile& file : files_) {
    logs.push_back(file.log);
    last = std::max(last, file.highest_order);
  }
  walk_ = std::make_unique<FoldWalk>(*opened, logs, last);
}

TraceFold::~TraceFold() = default;

bool TraceFold::step() {
  if (walk_ != nullptr) return walk_->step() || end_walk();
  if (folder_ != nullptr) {
    if (folder_->step()) return true;
    PackedFile& file = files_[next_ - 1];
    if (folder_->problem().empty()) {
      saved_ += file.bytes - std::min(file.bytes, folder_->bytes());
      result_ = Result::kFolded;
    }
    folder_.reset();
  }
  const bool writes = result_ == Result::kFailed || result_ == Result::kFolded;
  if (api_ == 0 || !writes || next_ == files_.size()) return false;
  folder_ = std::make_unique<LogFolder>(files_[next_++].log.string() + kPackedEnd, plan_, api_);
  return true;
}

bool TraceFold::end_walk() {
  const bool is_whole = walk_->is_whole();
  if (is_whole) {
    plan_ = walk_->finish();
    const std::size_t before = found_.size();
    found_.insert(walk_->found().begin(), walk_->found().end());
    if (found_.size() != before) result_ = Result::kKept;
    if (walk_->is_held()) result_ = Result::kHeld;
  } else {
    result_ = Result::kTooEarly;
  }
  walk_.reset();
  return true;
}

} // namespace gmt
