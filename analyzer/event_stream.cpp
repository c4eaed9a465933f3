// SPDX-License-Identifier: Apache-2.0
// Opens all logs of a trace and keeps the facts that records bring: names of handles, last words.

#include "analyzer/event_stream.h"

#include <algorithm>

namespace gmt {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxOpenLogs = 400; // well under the usual 1,024 descriptors

// True while the process that writes this trace is still there: same number and same program on this machine.
bool is_running(const TraceInfo& info) {
  if (info.pid == 0 || info.executable.empty()) return false;
  std::error_code error;
  const fs::path program = fs::read_symlink(fs::path("/proc") / std::to_string(info.pid) / "exe", error);
  return !error && program == info.executable;
}

} // namespace

std::uint64_t ReadStats::lost() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : total.lost) sum = sum > UINT64_MAX - n ? UINT64_MAX : sum + n;
  return sum;
}

EventStream::EventStream(const fs::path& trace_dir) : trace_(open_trace(trace_dir)) {
  std::vector<std::unique_ptr<LogReader>> logs;
  const bool keep_open = trace_.logs.size() <= kMaxOpenLogs;
  for (const fs::path& log : trace_.logs) {
    logs.push_back(
      std::make_unique<LogReader>(log, static_cast<std::uint32_t>(logs.size()), stacks_, keep_open));
  }
  merge_ = std::make_unique<Merge>(std::move(logs));
  conclude();
}

const Event* EventStream::next() {
  const Event* e = merge_->next();
  if (e == nullptr) {
    conclude();
  } else if (e->kind == trace::Kind::kName) {
    note_name(*e);
  } else if (e->kind == trace::Kind::kExit) {
    note_exit(*e);
  }
  return e;
}

std::string_view EventStream::handle_name(std::uint64_t handle) const {
  const auto found = names_.find(handle);
  return found == names_.end() ? std::string_view() : std::string_view(found->second);
}

void EventStream::note_name(const Event& e) {
  const std::uint64_t bytes = e.p(1);
  if (e.payload.size() < 2 || bytes > (e.payload.size() - 2) * 8) return;
  const auto* text = reinterpret_cast<const char*>(e.payload.data() + 2);
  names_[e.p(0)] = std::string(text, static_cast<std::size_t>(bytes));
}

void EventStream::note_exit(const Event& e) {
  switch (static_cast<trace::ExitWay>(e.p(0))) {
  case trace::ExitWay::kExit:
  case trace::ExitWay::kUnderscoreExit:
    last_words_ = {.how = Ending::How::kExited, .status = static_cast<int>(e.p(1) & 0xff)};
    break;
  case trace::ExitWay::kExec: last_words_ = {.how = Ending::How::kExec}; break;
  case trace::ExitWay::kExecFailed: last_words_ = {}; break;
  }
}

// The parent knows best, except that it cannot see an exec: what it saw end was the next program.
void EventStream::conclude() {
  if (last_words_.how == Ending::How::kExec) {
    ending_ = last_words_;
  } else if (trace_.completion && trace_.completion->ending.how != Ending::How::kUnknown) {
    ending_ = trace_.completion->ending;
  } else if (is_running(trace_.info)) {
    ending_ = {.how = Ending::How::kRunning};
  } else {
    ending_ = last_words_;
  }
}

ReadStats EventStream::stats() const {
  ReadStats all;
  for (const auto& log : merge_->logs()) {
    const LogStats& s = log->stats();
    all.total.records += s.records;
    all.total.torn += s.torn;
    all.total.damaged += s.damaged;
    all.total.unknown_kinds += s.unknown_kinds;
    for (std::size_t i = 0; i < s.lost.size(); ++i) {
      std::uint64_t& sum = all.total.lost[i];
      sum = sum > UINT64_MAX - s.lost[i] ? UINT64_MAX : sum + s.lost[i];
    }
  }
  for (std::size_t i = 0; i < trace_.logs.size(); ++i) {
    const std::string& why = merge_->logs()[i]->stats().skipped;
    if (!why.empty()) all.skipped_logs.emplace_back(trace_.logs[i], why);
  }
  return all;
}

} // namespace gmt
