// SPDX-License-Identifier: Apache-2.0
// Reads what instructions did to memory, see access_log.h.

#include "analyzer/trace_reader/access_log.h"

#include <unordered_map>
#include <vector>

#include "analyzer/base/memory_limit.h"
#include "analyzer/trace_reader/slot_file.h"
#include "trace/records.h"

namespace gmt {
namespace fs = std::filesystem;
namespace {

using trace::Kind;

constexpr std::uint64_t kMostAccessMemory = std::uint64_t{200} << 20;

class AccessLogReader {
public:
  explicit AccessLogReader(AccessLog& log) : log_(log) {}

  void read(const fs::path& path) {
    SlotFile file(path, log_.stats);
    const MemoryLimit limit(kMostAccessMemory);
    for (SlotRecord record; file.read(record);) {
      if (limit.is_reached()) {
        ++log_.stats.damaged;
        log_.stats.skipped = "it has more figures than fit into a report's memory";
        return;
      }
      file.words_of(record, payload_);
      on_record(record.head.kind);
    }
  }

private:
  void on_record(Kind kind) {
    bool sound = true;
    switch (kind) {
    case Kind::kAccessWindows: sound = on_windows(); break;
    case Kind::kText: sound = on_text(); break;
    case Kind::kAccessFunction: sound = on_function(); break;
    case Kind::kAccessInstruction: sound = on_instruction(); break;
    case Kind::kAccessCounters: sound = on_counters(); break;
    case Kind::kLoss: note_loss(trace::LossView(record()), log_.stats); return;
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
    if (number == 0 || number > UINT32_MAX ||
        !by_number_.try_emplace(number, log_.functions.size()).second) {
      return false;
    }
    const auto name = texts_.find(f.name());
    log_.functions.push_back({.number = static_cast<std::uint32_t>(number),
                              .name = name == texts_.end() ? std::string() : name->second,
                              .identity = f.word(trace::AccessFunctionWord::identity),
                              .measured = f.measured(),
                              .lost = f.lost(),
                              // The latter may be negative
                              .shared_measured = f.measured() + f.more_shared(),
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
    const auto [number, offset] = i.location();
    const auto function = by_number_.find(number);
    if (function == by_number_.end()) return false;
    log_.functions[function->second].instructions.push_back(
      {.offset = offset,
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
    for (unsigned word = trace::AccessCountersWord::read_bytes;
         const auto figure : kCounterFigures) {
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
  std::unordered_map<std::uint64_t, std::string> texts_;
  std::unordered_map<std::uint64_t, std::size_t> by_number_; // of functions, to their index
};

} // namespace

AccessLog read_access_log(const fs::path& path) {
  AccessLog log;
  log.name = path.stem().string();
  AccessLogReader(log).read(path);
  return log;
}

} // namespace gmt
