// SPDX-License-Identifier: Apache-2.0
// Opens all logs of a trace and adds up what reading them cost.

#include "analyzer/trace_reader/event_stream.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "analyzer/base/path.h"
#include "analyzer/base/text_lines.h"
#include "analyzer/trace_reader/log_merge.h"
#include "analyzer/trace_reader/reused_addresses.h"

namespace gmt {
namespace {

constexpr std::size_t kMaxOpenLogs = 400; // well under the usual 1,024 descriptors

void add_saturating(std::uint64_t& sum, std::uint64_t n) {
  if (__builtin_add_overflow(sum, n, &sum)) sum = UINT64_MAX;
}

// The files of one log are numbered: t4711-3.1.log goes on with t4711-3.0.log.
bool is_last_of_its_log(const std::vector<std::filesystem::path>& logs, std::size_t i) {
  const std::string owner = logs[i].stem().stem().string() + ".";
  const std::string number = logs[i].stem().extension().string(); // ".0"
  if (number.empty()) return true;
  const std::string next =
    owner + std::to_string(std::strtoull(number.c_str() + 1, nullptr, 10) + 1) + ".log";
  return std::ranges::none_of(logs, [&](const auto& log) { return log.filename() == next; });
}

// The earlier of two orders; 0 is none.
std::uint64_t earlier(std::uint64_t a, std::uint64_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// The files of each thread's log, "t7-0.0.log", "t7-0.1.log", as indices.
std::vector<std::vector<std::size_t>>
files_of_logs(const std::vector<std::filesystem::path>& logs) {
  std::map<std::string, std::map<std::uint64_t, std::size_t>> by_name;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const std::string name = logs[i].stem().string();
    const std::size_t dot = name.rfind('.');
    const auto number = dot == name.npos
                          ? std::nullopt
                          : parse_number<std::uint64_t>(std::string_view(name).substr(dot + 1));
    if (number) by_name[name.substr(0, dot)][*number] = i;
  }
  std::vector<std::vector<std::size_t>> all;
  for (const auto& [name, files] : by_name) {
    std::vector<std::size_t>& indices = all.emplace_back();
    for (const auto& [number, index] : files) indices.push_back(index);
  }
  return all;
}

std::shared_ptr<const ReusedAddresses> reused_addresses(const TraceDir& trace) {
  auto reused = std::make_shared<const ReusedAddresses>(trace.modules);
  return reused->any() ? reused : nullptr;
}

} // namespace

std::uint64_t ReadStats::lost() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t n : total.lost) add_saturating(sum, n);
  return sum;
}

std::uint64_t ReadStats::memory_lost_from() const {
  return earlier(total.allocations_lost_from, total.releases_lost_from);
}

EventStream::EventStream(TraceDir trace) : trace_(std::move(trace)) {
  stacks_.python().set_folder(trace_.info.directory);
  std::vector<std::unique_ptr<LogReader>> logs;
  const bool keep_open = trace_.logs.size() <= kMaxOpenLogs;
  const auto reused = reused_addresses(trace_);
  for (const std::filesystem::path& log : trace_.logs) {
    logs.push_back(std::make_unique<LogReader>(log, static_cast<std::uint32_t>(logs.size()),
                                               stacks_, keep_open, reused));
  }
  merge_ = std::make_unique<Merge>(std::move(logs));
  for (const auto& files : files_of_logs(trace_.logs)) merge_->follow_on(files);
}

EventStream::~EventStream() = default;

const Event* EventStream::next() {
  const Event* e = merge_->next();
  far_ahead_ = merge_->ahead(kFar);
  near_ahead_ = merge_->ahead(kNear);
  if (e != nullptr && e->thread != recent_threads_[e->thread % kRecentThreads]) note_thread(*e);
  return e;
}

std::span<const std::uint64_t> EventStream::words() { return merge_->words(); }

bool EventStream::has_newer() const { return merge_->has_newer(); }

void EventStream::join_python_stacks() {
  StackTable::Ranges interpreter, c_library;
  for (const Module& module : trace_.modules) {
    if (is_python_interpreter(module.path)) interpreter.emplace_back(module.start, module.end);
    if (base_name(module.path).starts_with("libc.so."))
      c_library.emplace_back(module.start, module.end);
  }
  stacks_.set_interpreter(std::move(interpreter), std::move(c_library));
}

void EventStream::follow(bool is_running) {
  follows_ = is_running;
  merge_->follow(is_running);
}

void EventStream::read_on() {
  if (follows_ && !merge_->has_newer()) add_new_logs(); // once a look, not once a batch
  merge_->read_on();
}

void EventStream::add_new_logs() {
  std::error_code error;
  std::unordered_set<std::string> known;
  for (const std::filesystem::path& log : trace_.logs) known.insert(log.filename().string());
  std::vector<std::filesystem::path> found;
  for (std::filesystem::directory_iterator it(trace_.path, error), end; !error && it != end;
       it.increment(error)) {
    std::filesystem::path path = name_of_log(it->path());
    const std::string name = path.filename().string();
    if (name.starts_with('t') && !known.contains(name)) found.push_back(std::move(path));
  }
  std::ranges::sort(found);
  // One that is just being packed
  found.erase(std::unique(found.begin(), found.end()), found.end());
  for (std::filesystem::path& path : found) {
    const bool keep_open = trace_.logs.size() < kMaxOpenLogs;
    merge_->add(std::make_unique<LogReader>(path, static_cast<std::uint32_t>(trace_.logs.size()),
                                            stacks_, keep_open, reused_addresses(trace_)));
    trace_.logs.push_back(std::move(path));
  }
}

// A thread that made no call, but only said how the process ends, is none that reports speak of.
void EventStream::note_thread(const Event& e) {
  if (!is_call(e.kind)) return;
  recent_threads_[e.thread % kRecentThreads] = e.thread;
  if (merge_->logs()[e.log]->stats().numbers_threads) threads_.insert(e.thread);
}

// A log that does not number its threads counts as one.
std::uint64_t EventStream::threads() const {
  const auto silent = [](const auto& log) { return !log->stats().numbers_threads; };
  return threads_.size() +
         static_cast<std::uint64_t>(std::ranges::count_if(merge_->logs(), silent));
}

ReadStats EventStream::stats() const {
  ReadStats all;
  for (const auto& log : merge_->logs()) {
    const LogStats& s = log->stats();
    all.total.records += s.records;
    all.total.torn += s.torn;
    all.total.damaged += s.damaged;
    all.total.unknown_kinds += s.unknown_kinds;
    for (std::size_t i = 0; i < s.lost.size(); ++i) add_saturating(all.total.lost[i], s.lost[i]);
    all.total.allocations_lost_from =
      earlier(all.total.allocations_lost_from, s.allocations_lost_from);
    all.total.releases_lost_from = earlier(all.total.releases_lost_from, s.releases_lost_from);
    all.total.lost_unknown |= s.lost_unknown;
  }
  for (std::size_t i = 0; i < trace_.logs.size(); ++i) {
    const std::string& why = merge_->logs()[i]->stats().skipped;
    if (!why.empty()) all.skipped_logs.emplace_back(trace_.logs[i], why);
  }
  return all;
}

std::vector<std::filesystem::path> EventStream::filled_logs() const {
  std::vector<std::filesystem::path> filled;
  for (std::size_t i = 0; i < trace_.logs.size(); ++i)
    if (merge_->logs()[i]->ends_in_a_record() && is_last_of_its_log(trace_.logs, i))
      filled.push_back(trace_.logs[i]);
  return filled;
}

} // namespace gmt
