// SPDX-License-Identifier: Apache-2.0
// Keeps the traces of a run small while it goes on: packs each file of a log that its thread has
// left two files ago, and writes into the trace how much that has saved: the process may record as
// much more.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace gmt {

class LogPacker;

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
    std::uint64_t saved = 0; // bytes
  };

  std::chrono::milliseconds do_work();
  void find_traces();
  bool begin_next();
  void finish();

  const std::filesystem::path folder_;
  const std::string run_;
  std::set<std::string> known_; // names in the folder: traces of the run, and what is none
  std::vector<Trace> traces_;
  std::unique_ptr<LogPacker> packer_;       // of a log of the trace `packed_`
  std::size_t packed_ = 0;                  // index
  std::set<std::filesystem::path> refused_; // logs that could not be packed
  std::filesystem::path log_;               // that is being packed
};

} // namespace gmt
