// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/run/trace_packer.h"

#include <time.h>

#include <algorithm>
#include <exception>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "analyzer/base/folder_files.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/trace_reader/packed_log.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

// A call in flight may complete its record in the file that its thread has just left.
constexpr std::uint64_t kFilesThatStay = 2;
constexpr std::chrono::milliseconds kNow{0}, kLater{500}, kMuchLater{30'000};
// Parts of a trace's limit: when it is folded, how much of it at once, and what may stay whole for
// findings that no earlier part has.
constexpr std::uint64_t kFoldsFrom = 8, kFoldsAtOnce = 16, kKeepsAtMost = 4;
constexpr int kShareOfTime = 20; // a folder of many files is looked at more seldom

struct LogFile { // "t7-0.12.log": file 12 of the log "t7-0"
  std::string log;
  std::uint64_t number = 0;
};

// Of a thread's log, packed or not; without a name if it is none.
LogFile log_file(const fs::path& path) {
  const std::string name = name_of_log(path).stem().string();
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with('t') || dot == std::string::npos) return {};
  const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(dot + 1));
  return number ? LogFile{name.substr(0, dot), *number} : LogFile{};
}

// Those that may be packed, the first files of each log first.
std::vector<fs::path> left_files(const fs::path& trace) {
  std::map<std::string, std::uint64_t> newest;
  std::vector<std::pair<LogFile, fs::path>> files;
  std::error_code error;
  for (fs::directory_iterator it(trace, error), end; !error && it != end; it.increment(error)) {
    LogFile file = log_file(it->path());
    if (file.log.empty()) continue;
    std::uint64_t& number = newest[file.log];
    number = std::max(number, file.number);
    if (it->path().extension() == ".log") files.emplace_back(std::move(file), it->path());
  }
  std::erase_if(files, [&newest](const auto& one) {
    return newest[one.first.log] - one.first.number < kFilesThatStay;
  });
  std::ranges::sort(files, {}, [](const auto& one) {
    return std::pair(one.first.number, std::string_view(one.first.log));
  });
  std::vector<fs::path> left;
  for (auto& [file, path] : files) left.push_back(std::move(path));
  return left;
}

// Of this thread. On a machine that is busy with the program a look takes long, but costs as
// little.
std::chrono::milliseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
    std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

std::uint64_t limit_of(const TraceInfo& info) {
  const auto found = info.options.find("max_trace");
  if (found == info.options.end()) return 0;
  return parse_number<std::uint64_t>(found->second).value_or(0);
}

} // namespace

void add_packed(std::vector<PackedFile>& packed, PackedFile file) {
  const auto behind =
    std::ranges::upper_bound(packed, file.highest_order, {}, &PackedFile::highest_order);
  packed.insert(behind, std::move(file));
}

std::vector<PackedFile> folded_at_once(const std::vector<PackedFile>& packed,
                                       std::uint64_t most_bytes) {
  std::vector<PackedFile> files;
  std::uint64_t bytes = 0, lowest = UINT64_MAX, highest = 0;
  for (const PackedFile& file : packed) {
    lowest = std::min(lowest, file.lowest_order);
    highest = std::max(highest, file.highest_order);
    const bool is_too_much = bytes >= most_bytes || highest - lowest >= FoldPlan::kMostOrders ||
                             files.size() == FoldPlan::kMostFiles;
    if (!files.empty() && is_too_much) break;
    bytes += file.bytes;
    files.push_back(file);
  }
  return files;
}

TracePacker::TracePacker(fs::path folder, std::string run)
    : folder_(std::move(folder)), run_(std::move(run)) {}

TracePacker::~TracePacker() = default;

// The program runs on whatever becomes of this: there is less memory than it takes, perhaps.
std::chrono::milliseconds TracePacker::work() {
  try {
    return do_work();
  } catch (const std::exception&) {
    packer_.reset();
    fold_.reset();
    return kMuchLater;
  }
}

std::chrono::milliseconds TracePacker::do_work() {
  if (packer_ != nullptr) {
    if (!packer_->step()) finish();
    return kNow;
  }
  if (fold_ != nullptr) {
    if (!fold_->step()) finish_fold();
    return kNow;
  }
  const std::chrono::milliseconds began = processor_time();
  if (left_.empty()) find_traces();
  if (begin_fold() || begin_next()) return kNow;
  const std::chrono::milliseconds took = processor_time() - began;
  return std::clamp(took * kShareOfTime, kLater, kMuchLater);
}

void TracePacker::find_traces() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("gpumemtrace.") || known_.contains(name) || !is_trace(it->path()))
      continue;
    if (is_own_folder(it->path())) {
      const TraceHead head = read_head(it->path());
      if (head.info.run == run_) traces_.push_back({it->path(), limit_of(head.info)});
    }
    known_.insert(name);
  }
}

bool TracePacker::begin_next() {
  for (std::size_t i = 0; left_.empty() && i < traces_.size(); ++i) {
    for (const fs::path& log : left_files(traces_[i].path))
      if (!refused_.contains(log)) left_.push_back(log);
    std::ranges::reverse(left_);
    packed_ = i;
  }
  if (left_.empty()) return false;
  log_ = std::move(left_.back());
  left_.pop_back();
  packer_ = std::make_unique<LogPacker>(log_);
  return true;
}

// A log that cannot be packed stays as it is.
void TracePacker::finish() {
  if (packer_->problem().empty()) {
    Trace& trace = traces_[packed_];
    trace.saved += packer_->saved_bytes();
    add_packed(trace.packed,
               {log_, packer_->packed_bytes(), packer_->lowest_order(), packer_->highest_order()});
    trace.packed_bytes += packer_->packed_bytes();
    write_saved(trace);
  } else {
    refused_.insert(log_);
  }
  packer_.reset();
}

void TracePacker::write_saved(const Trace& trace) {
  replace_file(trace.path / "packed", Into::kTrace,
               [&trace](std::ostream& out) { out << trace.saved << '\n'; });
}

bool TracePacker::begin_fold() {
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < traces_.size(); ++i) {
    Trace& trace = traces_[i];
    if (trace.max_bytes == 0 || trace.packed_bytes <= trace.max_bytes / kFoldsFrom ||
        now < trace.folds_from)
      continue;
    folded_ = i;
    fold_ = std::make_unique<TraceFold>(
      trace.path, folded_at_once(trace.packed, trace.max_bytes / kFoldsAtOnce), trace.found);
    return true;
  }
  return false;
}

void TracePacker::finish_fold() {
  using Result = TraceFold::Result;
  Trace& trace = traces_[folded_];
  const Result result = fold_->result();
  const std::unique_ptr<TraceFold> fold = std::exchange(fold_, nullptr);
  if (result == Result::kTooEarly) {
    trace.folds_from = std::chrono::steady_clock::now() + kMuchLater;
    return;
  }
  std::uint64_t bytes = 0;
  for (const PackedFile& file : fold->files()) bytes += file.bytes;
  trace.found = fold->take_found();
  if (result == Result::kKept) {
    // Once there is no room for more of it, they are folded after all, but for the mistakes.
    if (trace.kept_bytes + bytes > trace.max_bytes / kKeepsAtMost) return;
    trace.kept_bytes += bytes;
  }
  trace.packed.erase(trace.packed.begin(),
                     trace.packed.begin() + static_cast<std::ptrdiff_t>(fold->files().size()));
  trace.packed_bytes -= std::min(bytes, trace.packed_bytes);
  trace.saved += fold->saved_bytes();
  write_saved(trace);
}

} // namespace gmt
