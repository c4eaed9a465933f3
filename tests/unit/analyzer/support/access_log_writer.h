// SPDX-License-Identifier: Apache-2.0
// Writes what the coalescing mode leaves of one context: an access log in the real format. Used by the tests
// of memory accesses, by the fuzz driver's seed and by the test of `dump`.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/analyzer/support/slot_file.h"

namespace gmt::test {

// One instruction's figures, as trace::Kind::kAccessInstruction numbers them.
struct Measured {
  std::uint64_t executions = 0, threads = 0;
  std::uint64_t sectors = 0, ideal = 0, bytes = 0;
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0, shared_bytes = 0;
  std::uint64_t local_sectors = 0;
};

// One context's windows, as trace::Kind::kAccessWindows numbers them.
struct Windows {
  trace::AccessTrouble trouble = trace::AccessTrouble::kNone;
  std::uint64_t code = 0, opened = 1, read = 1, given_up = 0;
  std::uint64_t launches = 1, launches_read = 1, launches_given_up = 0;
  std::uint64_t open_nanoseconds = 1'000'000, graph_launches = 0, put_off = 0;
  std::uint64_t unknown_graphs = 0, graphs_in_windows = 0;
  std::uint64_t measuring = 0, elapsed = 0; // nanoseconds
};

class AccessLogWriter : public SlotFile {
public:
  void windows(const Windows& w) {
    record(trace::Kind::kAccessWindows,
           {static_cast<std::uint64_t>(w.trouble), w.code, w.opened, w.read, w.given_up, w.launches,
            w.launches_read, w.launches_given_up, w.open_nanoseconds, w.graph_launches, w.put_off, 0,
            0, 0, 0, w.unknown_graphs, w.graphs_in_windows, w.measuring, w.elapsed});
  }
  // Its number; the instructions that follow are its own.
  std::uint64_t function(const std::string& name, std::uint64_t launches = 1, std::uint64_t measured = 1,
                         std::uint64_t identity = 0xabcd, std::uint64_t lost = 0) {
    std::vector<std::uint64_t> text(2 + (name.size() + 7) / 8);
    text[0] = ++functions_; // ids are the writer's business
    text[1] = name.size();
    std::memcpy(text.data() + 2, name.data(), name.size());
    record(trace::Kind::kText, text);
    record(trace::Kind::kAccessFunction, {functions_, functions_, identity, measured, lost, launches, times_.plain,
                                          times_.too_costly, times_.longest, times_.more_shared});
    times_ = {};
    return functions_;
  }
  // Of the next function: nanoseconds of launches, launches that were put off, and P9.
  struct Times {
    std::uint64_t plain = 0, longest = 0, too_costly = 0, more_shared = 0;
  };
  void times(const Times& times) { times_ = times; }
  void instruction(std::uint32_t offset, const Measured& m) { instruction(functions_, offset, m); }
  void instruction(std::uint64_t function, std::uint32_t offset, const Measured& m) {
    record(trace::Kind::kAccessInstruction,
           {function | std::uint64_t{offset} << 32, m.executions, m.threads, m.sectors, m.ideal, m.bytes,
            m.wavefronts, m.ideal_wavefronts, m.shared_bytes, m.local_sectors});
  }
  void record(trace::Kind kind, const std::vector<std::uint64_t>& payload) {
    trace::Slot first{};
    first.head = trace::pack({kind, slots_of(payload), trace::kNoApi, 0, 0});
    append_record(first, payload);
  }
  bool empty() const { return slots_.empty(); }
  void write(const std::filesystem::path& trace, const std::string& name = "access-0") const {
    SlotFile::write(trace, name);
  }

private:
  Times times_;
  std::uint64_t functions_ = 0;
};

} // namespace gmt::test
