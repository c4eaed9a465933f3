// SPDX-License-Identifier: Apache-2.0

#include "analyzer/command/run/trace_packer.h"

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

// Those that may be packed.
std::set<fs::path> left_files(const fs::path& trace) {
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
  std::set<fs::path> left;
  for (const auto& [file, path] : files)
    if (newest[file.log] - file.number >= kFilesThatStay) left.insert(path);
  return left;
}

} // namespace

TracePacker::TracePacker(fs::path folder, std::string run)
    : folder_(std::move(folder)), run_(std::move(run)) {}

TracePacker::~TracePacker() = default;

// The program runs on whatever becomes of this: there is less memory than it takes, perhaps.
std::chrono::milliseconds TracePacker::work() {
  try {
    return do_work();
  } catch (const std::exception&) {
    packer_.reset();
    return kMuchLater;
  }
}

std::chrono::milliseconds TracePacker::do_work() {
  if (packer_ != nullptr) {
    if (!packer_->step()) finish();
    return kNow;
  }
  const auto began = std::chrono::steady_clock::now();
  find_traces();
  if (begin_next()) return kNow;
  const auto took =
    std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  return std::clamp(took * kShareOfTime, kLater, kMuchLater);
}

void TracePacker::find_traces() {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with("gpumemtrace.") || known_.contains(name) || !is_trace(it->path()))
      continue;
    if (is_own_folder(it->path()) && read_head(it->path()).info.run == run_)
      traces_.push_back({it->path()});
    known_.insert(name);
  }
}

bool TracePacker::begin_next() {
  for (std::size_t i = 0; i < traces_.size(); ++i) {
    for (const fs::path& log : left_files(traces_[i].path)) {
      if (refused_.contains(log)) continue;
      log_ = log;
      packed_ = i;
      packer_ = std::make_unique<LogPacker>(log);
      return true;
    }
  }
  return false;
}

// A log that cannot be packed stays as it is.
void TracePacker::finish() {
  if (packer_->problem().empty()) {
    Trace& trace = traces_[packed_];
    trace.saved += packer_->saved_bytes();
    replace_file(trace.path / "packed", Into::kTrace,
                 [&trace](std::ostream& out) { out << trace.saved << '\n'; });
  } else {
    refused_.insert(log_);
  }
  packer_.reset();
}

} // namespace gmt
