// SPDX-License-Identifier: Apache-2.0
// Reads what instructions did to memory, see access_log.h.

#include "analyzer/trace_reader/access_log.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <span>
#include <unordered_map>
#include <utility>

namespace gmt {
namespace fs = std::filesystem;
namespace {

using trace::Kind;
using Payload = std::span<const std::uint64_t>;

constexpr std::size_t kBatch = 1024; // slots read at once

class AccessLogReader {
public:
  explicit AccessLogReader(AccessLog& log) : log_(log) {}

  void read(std::ifstream& file) {
    std::vector<trace::Slot> raw; // what is not taken yet
    for (bool more = true; more;) {
      const std::size_t before = raw.size();
      raw.resize(before + kBatch);
      file.read(reinterpret_cast<char*>(raw.data() + before), kBatch * sizeof(trace::Slot));
      const auto slots = static_cast<std::size_t>(file.gcount()) / sizeof(trace::Slot);
      raw.resize(before + slots);
      more = slots == kBatch;
      raw.erase(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(take(raw, !more)));
    }
  }

private:
  // Takes all whole records; the last one may go on in the next batch. Returns how many slots that were.
  std::size_t take(std::span<const trace::Slot> slots, bool is_end) {
    std::size_t at = 0;
    while (at < slots.size()) {
      if (slots[at].head == 0) { // the tail that files grow by, or a record that was never finished
        ++zeros_;
        ++at;
        continue;
      }
      const trace::Head head = trace::unpack(slots[at].head);
      if (at + head.slots > slots.size() && !is_end) break;
      log_.stats.torn += std::exchange(zeros_, 0);
      at += take_record(head, slots.subspan(at));
    }
    return at;
  }

  // The number of slots that the record takes up, at least 1.
  std::size_t take_record(const trace::Head& head, std::span<const trace::Slot> slots) {
    std::size_t whole = 1;
    while (whole < head.slots && whole < slots.size() &&
           trace::unpack(slots[whole].head).kind == Kind::kMore) {
      ++whole;
    }
    if (head.kind == Kind::kMore || head.slots == 0 || whole != head.slots) {
      ++log_.stats.damaged;
      return whole;
    }
    payload_.assign(std::begin(slots[0].a), std::end(slots[0].a));
    for (std::size_t i = 1; i < whole; ++i) {
      const auto more = std::bit_cast<trace::MoreSlot>(slots[i]);
      payload_.insert(payload_.end(), std::begin(more.payload), std::end(more.payload));
    }
    on_record(head.kind);
    return whole;
  }

  void on_record(Kind kind) {
    bool sound = true;
    switch (kind) {
    case Kind::kAccessWindows: sound = on_windows(); break;
    case Kind::kText: sound = on_text(); break;
    case Kind::kAccessFunction: sound = on_function(); break;
    case Kind::kAccessInstruction: sound = on_instruction(); break;
    case Kind::kAccessCounters: sound = on_counters(); break;
    case Kind::kLoss: log_.stats.lost[p(0) < log_.stats.lost.size() ? p(0) : 0] += p(1); return;
    case Kind::kAbandoned: return;
    default: ++log_.stats.unknown_kinds; return;
    }
    ++(sound ? log_.stats.records : log_.stats.damaged);
  }

  bool on_windows() {
    constexpr auto kLast = static_cast<std::uint64_t>(trace::AccessTrouble::kError);
    if (log_.has_windows || p(0) > kLast || p(11) > kLast) return false;
    log_.has_windows = true;
    log_.windows = {.trouble = static_cast<trace::AccessTrouble>(p(0)),
                    .code = p(1),
                    .opened = p(2),
                    .read = p(3),
                    .given_up = p(4),
                    .launches = p(5),
                    .launches_read = p(6),
                    .launches_given_up = p(7),
                    .open_nanoseconds = p(8),
                    .graph_launches = p(9),
                    .graphs_in_windows = p(16),
                    .unknown_graphs = p(15),
                    .put_off = p(10),
                    .measuring_nanoseconds = p(17),
                    .elapsed_nanoseconds = p(18),
                    .counters_trouble = static_cast<trace::AccessTrouble>(p(11)),
                    .counters_code = p(12),
                    .counted = p(13),
                    .counted_lost = p(14)};
    return true;
  }

  bool on_text() {
    constexpr std::size_t kText = 2; // the payload word where it begins
    if (p(1) > (payload_.size() - kText) * 8) return false;
    texts_[p(0)] = std::string(reinterpret_cast<const char*>(payload_.data() + kText), p(1));
    return true;
  }

  bool on_function() {
    if (p(0) == 0 || p(0) > UINT32_MAX || !by_number_.try_emplace(p(0), log_.functions.size()).second) {
      return false;
    }
    const auto name = texts_.find(p(1));
    log_.functions.push_back({.number = static_cast<std::uint32_t>(p(0)),
                              .name = name == texts_.end() ? std::string() : name->second,
                              .identity = p(2),
                              .measured = p(3),
                              .lost = p(4),
                              .shared_measured = p(3) + p(9), // the latter may be negative
                              .launches = p(5),
                              .plain_nanoseconds = p(6),
                              .longest_nanoseconds = p(8),
                              .too_costly = p(7),
                              .instructions = {},
                              .counters = {}});
    return true;
  }

  bool on_instruction() {
    const auto function = by_number_.find(p(0) & 0xffffffff);
    if (function == by_number_.end()) return false;
    log_.functions[function->second].instructions.push_back({.offset = static_cast<std::uint32_t>(p(0) >> 32),
                                                             .counts = {.executions = p(1),
                                                                        .thread_executions = p(2),
                                                                        .sectors = p(3),
                                                                        .ideal_sectors = p(4),
                                                                        .bytes = p(5),
                                                                        .wavefronts = p(6),
                                                                        .ideal_wavefronts = p(7),
                                                                        .shared_bytes = p(8),
                                                                        .local_sectors = p(9)}});
    return true;
  }

  bool on_counters() {
    const auto function = by_number_.find(p(0));
    if (function == by_number_.end()) return false;
    constexpr unsigned kFirstFigure = 2, kSecondPass = 32;
    const std::uint64_t launches[] = {p(1), p(14)}, of_passes = p(15);
    KernelCounters& counters = log_.functions[function->second].counters;
    counters.launches = launches[0] + launches[1];
    for (unsigned word = kFirstFigure; const auto figure : kCounterFigures) {
      const bool first = (of_passes >> word & 1) != 0, second = (of_passes >> (kSecondPass + word) & 1) != 0;
      counters.*figure = {p(word), (first ? launches[0] : 0) + (second ? launches[1] : 0)};
      ++word;
    }
    return true;
  }

  std::uint64_t p(std::size_t i) const { return i < payload_.size() ? payload_[i] : 0; }

  AccessLog& log_;
  std::vector<std::uint64_t> payload_; // of the record in hand
  std::uint64_t zeros_ = 0;            // heads since the last record
  std::unordered_map<std::uint64_t, std::string> texts_;
  std::unordered_map<std::uint64_t, std::size_t> by_number_; // of functions, to their index
};

} // namespace

AccessLog read_access_log(const fs::path& path) {
  AccessLog log;
  log.name = path.stem().string();
  std::error_code error;
  std::ifstream file;
  if (fs::is_regular_file(path, error)) file.open(path, std::ios::binary); // a pipe would block us
  char page[trace::kLogHeaderBytes];
  file.read(page, sizeof page);
  if (!note_header({page, static_cast<std::size_t>(file.gcount())}, log.stats)) return log;
  AccessLogReader(log).read(file);
  return log;
}

} // namespace gmt
