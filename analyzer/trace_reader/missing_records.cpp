// SPDX-License-Identifier: Apache-2.0
// Names of logs: t<tid>-<number>.<file>.log, access-<number>.log, device-<number>.log and
// device-<number>.<file>.log; a device's number may lack, because a ring whose kernels recorded
// nothing has no log.

#include "analyzer/trace_reader/missing_records.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analyzer/base/text_format.h"
#include "analyzer/base/text_lines.h"

namespace gmt {
namespace {

constexpr std::uint64_t kMostOfBatch = 1024; // trace/FORMAT.md: the rest is one note

std::uint64_t loss(const LogStats& total, trace::LossCause cause) {
  return total.lost[static_cast<std::size_t>(cause)];
}

// Of all the causes: those that drop a record which has its order already.
std::uint64_t known_losses(const LogStats& total) {
  std::uint64_t sum = total.torn + total.damaged + total.unknown_kinds;
  for (const trace::LossCause cause :
       {trace::LossCause::kNoSpace, trace::LossCause::kTraceLimit, trace::LossCause::kReentry}) {
    if (__builtin_add_overflow(sum, loss(total, cause), &sum)) return UINT64_MAX;
  }
  return sum;
}

struct LogName {
  std::string owner; // "t4711-0", "device-0"
  std::uint64_t number = 0, file = 0;
};

// Takes a number off the front; nothing if there is none.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_number<std::uint64_t>(text.substr(0, digits));
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<LogName> thread_log_name(const std::string& file) {
  std::string_view rest = file;
  if (!take(rest, "t") || !take_number(rest) || !take(rest, "-")) return std::nullopt;
  const auto number = take_number(rest);
  const std::string owner = file.substr(0, file.size() - rest.size());
  if (!number || !take(rest, ".")) return std::nullopt;
  const auto part = take_number(rest);
  if (!part || rest != ".log") return std::nullopt;
  return LogName{owner, *number, *part};
}

std::optional<LogName> device_log_name(const std::string& file) {
  std::string_view rest = file;
  if (!take(rest, "device-")) return std::nullopt;
  const auto number = take_number(rest);
  const std::string owner = file.substr(0, file.size() - rest.size());
  if (!number) return std::nullopt;
  if (rest == ".log") return LogName{owner, *number, 0};
  const auto part = take(rest, ".") ? take_number(rest) : std::nullopt;
  if (!part || rest != ".log") return std::nullopt;
  return LogName{owner, *number, *part};
}

std::optional<std::uint64_t> access_log_number(const std::string& file) {
  std::string_view rest = file;
  if (!take(rest, "access-")) return std::nullopt;
  const auto number = take_number(rest);
  return rest == ".log" ? number : std::nullopt;
}

// Numbers from 0 to the greatest that are not there; damage must not cost memory.
std::vector<std::uint64_t> holes(const std::set<std::uint64_t>& numbers) {
  constexpr std::size_t kMost = 10;
  std::vector<std::uint64_t> result;
  std::uint64_t expected = 0;
  for (const std::uint64_t number : numbers) {
    for (; expected < number && result.size() < kMost; ++expected) result.push_back(expected);
    expected = number + 1;
  }
  return result;
}

} // namespace

void OrderGaps::make_room(std::uint32_t log) { last_of_log_.resize(log + std::size_t{1}); }

void OrderGaps::note_gap(std::uint64_t orders) {
  constexpr std::size_t kMostKept = 4096;
  empty_ += orders;
  if (last_record_.of_batch && gaps_.size() < kMostKept)
    gaps_.push_back({last_, orders, last_record_});
}

// The call never returned, or the process ended while its members were written.
bool OrderGaps::is_cut_batch(const Gap& gap) const {
  if (gap.orders > kMostOfBatch) return false;
  return gap.record.in_flight || last_of_log_[gap.record.log] == gap.behind;
}

std::uint64_t OrderGaps::missing(const LogStats& total, bool exit_recorded) const {
  if (empty_ == 0) return 0;
  std::uint64_t count = empty_;
  for (const Gap& gap : gaps_) {
    if (is_cut_batch(gap)) count -= std::min(count, gap.orders);
  }
  count -= std::min(count, known_losses(total));
  // A call takes its order some instructions before its record stands. The thread that wrote the
  // last words was in none.
  const std::uint64_t cut_calls =
    last_of_log_.size() - (exit_recorded && !last_of_log_.empty() ? 1 : 0);
  return count > cut_calls ? count : 0;
}

std::vector<std::string> missing_logs(const TraceDir& trace) {
  std::map<std::string, std::set<std::uint64_t>> files; // of each log
  std::set<std::uint64_t> numbers, access_numbers;
  const auto add = [&files](const LogName& name) { files[name.owner].insert(name.file); };
  for (const auto& path : trace.logs) {
    if (const auto name = thread_log_name(path.filename().string())) {
      numbers.insert(name->number);
      add(*name);
    }
  }
  for (const DeviceLogFiles& device : trace.device_logs) {
    if (const auto name = device_log_name(device.log.filename().string())) add(*name);
  }
  for (const auto& path : trace.access_logs) {
    if (const auto number = access_log_number(path.filename().string()))
      access_numbers.insert(*number);
  }
  std::vector<std::string> missing;
  for (const std::uint64_t number : holes(numbers))
    missing.push_back(cat({"t*-", std::to_string(number), ".0.log"}));
  for (const std::uint64_t number : holes(access_numbers)) {
    missing.push_back(cat({"access-", std::to_string(number), ".log"}));
  }
  for (const auto& [owner, parts] : files) {
    for (const std::uint64_t part : holes(parts)) {
      const bool bare = part == 0 && owner.starts_with("device-");
      missing.push_back(bare ? cat({owner, ".log"})
                             : cat({owner, ".", std::to_string(part), ".log"}));
    }
  }
  return missing;
}

} // namespace gmt
