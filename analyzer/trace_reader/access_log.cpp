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
    case Kind::kLoss: note_loss(trace::LossView(record()), log_.stats); return;
    case Kind::kAbandoned: return;
    default: ++log_.stats.unknown_kinds; return;
    }
    ++(sound ? log_.stats.records : log_.stats.damaged);
  }

  bool on_windows() {
    constexpr auto kLast = trace::AccessTrouble::kError;
    const trace::AccessWindowsView w(record());
    if (log_.has_windows || w.trouble() > kLast || w.counters_trouble() > kLast) return false;
    log_.has_windows = true;
    log_.windows = {.trouble = w.trouble(),
                    .code = w.code(),
                    .opened = w.opened(),
                    .read = w.read(),
                    .given_up = w.given_up(),
                    .launches = w.launches(),
                    .launches_read = w.launches_read(),
                    .launches_given_up = w.launches_given_up(),
                    .open_nanoseconds = w.open_nanoseconds(),
                    .graph_launches = w.graph_launches(),
                    .graphs_in_windows = w.graphs_in_windows(),
                    .unknown_graphs = w.unknown_graphs(),
                    .put_off = w.put_off(),
                    .measuring_nanoseconds = w.measuring_nanoseconds(),
                    .elapsed_nanoseconds = w.elapsed_nanoseconds(),
                    .counters_trouble = w.counters_trouble(),
                    .counters_code = w.counters_code(),
                    .counted = w.counted(),
                    .counted_lost = w.counted_lost()};
    return true;
  }

  bool on_text() {
    const trace::TextView view(record());
    const trace::Payload text = view.text();
    if (view.length() > text.bytes()) return false;
    texts_[view.id()] = std::string(text.text(), view.length());
    return true;
  }

  bool on_function() {
    const trace::AccessFunctionView f(record());
    const std::uint64_t number = f.number();
    if (number == 0 || number > UINT32_MAX || !by_number_.try_emplace(number, log_.functions.size()).second) {
      return false;
    }
    const auto name = texts_.find(f.name());
    log_.functions.push_back({.number = static_cast<std::uint32_t>(number),
                              .name = name == texts_.end() ? std::string() : name->second,
                              .identity = f.word(trace::AccessFunctionWord::identity),
                              .measured = f.measured(),
                              .lost = f.lost(),
                              .shared_measured = f.measured() + f.more_shared(), // the latter may be negative
                              .launches = f.launches(),
                              .plain_nanoseconds = f.plain_nanoseconds(),
                              .longest_nanoseconds = f.longest_nanoseconds(),
                              .too_costly = f.too_costly(),
                              .instructions = {},
                              .counters = {}});
    return true;
  }

  bool on_instruction() {
    const trace::AccessInstructionView i(record());
    const auto [number, offset] = i.place();
    const auto function = by_number_.find(number);
    if (function == by_number_.end()) return false;
    log_.functions[function->second].instructions.push_back({.offset = offset,
                                                             .counts = {.executions = i.executions(),
                                                                        .thread_executions = i.thread_executions(),
                                                                        .sectors = i.sectors(),
                                                                        .ideal_sectors = i.ideal_sectors(),
                                                                        .bytes = i.bytes(),
                                                                        .wavefronts = i.wavefronts(),
                                                                        .ideal_wavefronts = i.ideal_wavefronts(),
                                                                        .shared_bytes = i.shared_bytes(),
                                                                        .local_sectors = i.local_sectors()}});
    return true;
  }

  bool on_counters() {
    const trace::AccessCountersView c(record());
    const auto function = by_number_.find(c.function());
    if (function == by_number_.end()) return false;
    const auto [of_first, of_second] = c.words_of_passes(); // a bit for each word
    KernelCounters& counters = log_.functions[function->second].counters;
    counters.launches = c.first_pass() + c.second_pass();
    for (unsigned word = trace::AccessCountersWord::read_bytes; const auto figure : kCounterFigures) {
      const std::uint64_t first = (of_first >> word & 1) != 0 ? c.first_pass() : 0;
      const std::uint64_t second = (of_second >> word & 1) != 0 ? c.second_pass() : 0;
      counters.*figure = {c.word(word), first + second};
      ++word;
    }
    return true;
  }

  trace::Payload record() const { return {payload_.data(), payload_.size()}; }

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
