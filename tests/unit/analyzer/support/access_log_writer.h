// SPDX-License-Identifier: Apache-2.0
// Writes what the coalescing mode leaves of one context: an access log in the real format.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/slot_writer.h"

namespace gmt::test {

// One instruction's figures, in the order of trace::Kind::kAccessInstruction's words.
struct Measured {
  std::uint64_t executions = 0, threads = 0;
  std::uint64_t sectors = 0, ideal = 0, bytes = 0;
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0, shared_bytes = 0;
  std::uint64_t local_sectors = 0;
};

// One context's windows, see trace::Kind::kAccessWindows.
struct Windows {
  trace::AccessTrouble trouble = trace::AccessTrouble::kNone;
  std::uint64_t code = 0, opened = 1, read = 1, given_up = 0;
  std::uint64_t launches = 1, launches_read = 1, launches_given_up = 0;
  std::uint64_t open_nanoseconds = 1'000'000, graph_launches = 0, put_off = 0;
  std::uint64_t unknown_graphs = 0, graphs_in_windows = 0;
  std::uint64_t measuring = 0, elapsed = 0; // nanoseconds
};

class AccessLogWriter : public SlotWriter {
public:
  void windows(const Windows& w) {
    Made<trace::AccessWindowsFields> made;
    made.trouble(w.trouble)
      .code(w.code)
      .opened(w.opened)
      .read(w.read)
      .given_up(w.given_up)
      .launches(w.launches);
    made.launches_read(w.launches_read)
      .launches_given_up(w.launches_given_up)
      .open_nanoseconds(w.open_nanoseconds);
    made.graph_launches(w.graph_launches).put_off(w.put_off).unknown_graphs(w.unknown_graphs);
    made.graphs_in_windows(w.graphs_in_windows)
      .measuring_nanoseconds(w.measuring)
      .elapsed_nanoseconds(w.elapsed);
    record(made);
  }
  // Its number; the instructions that follow are its own.
  std::uint64_t function(const std::string& name, std::uint64_t launches = 1,
                         std::uint64_t measured = 1, std::uint64_t identity = 0xabcd,
                         std::uint64_t lost = 0) {
    ++functions_; // ids are the writer's business
    record(Made<trace::TextFields>().id(functions_).length(name.size()), string_words(name));
    Made<trace::AccessFunctionFields> made;
    made.number(functions_)
      .name(functions_)
      .identity(trace::halves_of(identity))
      .measured(measured)
      .lost(lost);
    made.launches(launches).plain_nanoseconds(times_.plain).too_costly(times_.too_costly);
    record(made.longest_nanoseconds(times_.longest).more_shared(times_.more_shared));
    times_ = {};
    return functions_;
  }
  // Of the next function: nanoseconds of launches, launches that were put off, and more_shared().
  struct Times {
    std::uint64_t plain = 0, longest = 0, too_costly = 0, more_shared = 0;
  };
  void times(const Times& times) { times_ = times; }
  void instruction(std::uint32_t offset, const Measured& m) { instruction(functions_, offset, m); }
  void instruction(std::uint64_t function, std::uint32_t offset, const Measured& m) {
    Made<trace::AccessInstructionFields> made;
    made.location({static_cast<std::uint32_t>(function), offset})
      .executions(m.executions)
      .thread_executions(m.threads);
    made.sectors(m.sectors).ideal_sectors(m.ideal).bytes(m.bytes).wavefronts(m.wavefronts);
    record(made.ideal_wavefronts(m.ideal_wavefronts)
             .shared_bytes(m.shared_bytes)
             .local_sectors(m.local_sectors));
  }
  void record(trace::Kind kind, const std::vector<std::uint64_t>& payload) {
    trace::Slot first{};
    first.head = trace::pack({kind, slots_of(payload), trace::kNoApi, 0, 0});
    append_record(first, payload);
  }
  template <template <class> class Fields>
  void record(const Fields<PayloadWords>& fields, const std::vector<std::uint64_t>& rest = {}) {
    record(fields.kKind, words_of(fields, rest));
  }
  bool empty() const { return slots_.empty(); }
  void write(const std::filesystem::path& trace, const std::string& name = "access-0") const {
    SlotWriter::write(trace, name);
  }

private:
  Times times_;
  std::uint64_t functions_ = 0;
};

} // namespace gmt::test
