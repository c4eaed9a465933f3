// SPDX-License-Identifier: Apache-2.0
// Keeps the traces of a run small while it goes on: packs each file of a log that its thread has
// left two files ago, and writes into the trace how much that has saved: the process may record as
// much more. A trace that comes near to its limit all the same is folded: what no finding needs of
// its oldest files goes.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/command/fold/trace_fold.h"

namespace gmt {

class LogPacker;

// `packed` is in order of the newest records.
void add_packed(std::vector<PackedFile>& packed, PackedFile file);

// The first ones: so many bytes, and so many orders as a plan takes. At least one.
std::vector<PackedFile> folded_at_once(const std::vector<PackedFile>& packed,
                                       std::uint64_t most_bytes);

class TracePacker {
public:
  // The folder of the traces, and what their `info` has as `run`.
  TracePacker(std::filesystem::path folder, std::string run);
  ~TracePacker();

  // A moment's work. Says how long to wait until there may be more. Throws nothing.
  std::chrono::milliseconds work();

private:
  struct Trace {
    std::filesystem::path path;
    std::uint64_t max_bytes = 0;
    std::uint64_t saved = 0;             // bytes
    std::vector<PackedFile> packed = {}; // and not folded: add_packed()
    std::uint64_t packed_bytes = 0;      // of these
    std::set<std::string> found = {};    // in files that may be folded, or were
    std::uint64_t kept_bytes = 0;        // of files that are not folded, for what was found there
    std::chrono::steady_clock::time_point folds_from = {};
  };

  std::chrono::milliseconds do_work();
  void find_traces();
  bool begin_next();
  void finish();
  bool begin_fold();
  void finish_fold();
  static void write_saved(const Trace& trace);

  const std::filesystem::path folder_;
  const std::string run_;
  std::set<std::string> known_; // names in the folder: traces of the run, and what is none
  std::vector<Trace> traces_;
  std::unique_ptr<LogPacker> packer_;       // of a log of the trace `packed_`
  std::size_t packed_ = 0;                  // index
  std::set<std::filesystem::path> refused_; // logs that could not be packed
  std::filesystem::path log_;               // that is being packed
  std::vector<std::filesystem::path> left_; // logs of the trace `packed_` to be packed next
  std::unique_ptr<TraceFold> fold_;         // of the trace `folded_`
  std::size_t folded_ = 0;                  // index
};

} // namespace gmt
