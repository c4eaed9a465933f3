// SPDX-License-Identifier: Apache-2.0
// The symbols of one process: what its trace knows already, and what is asked of the binaries.
// First all processes say what they want, then the resolver answers, then frames can be had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/symbols/symbols.h"
#include "analyzer/symbols/symbols_cache.h"

namespace gmt {

class ProcessSymbols {
public:
  // The analysis must live as long. `keep_interpreter`: the interpreter's frames stay beside
  // Python's.
  ProcessSymbols(const Analysis& analysis, const std::filesystem::path& trace,
                 bool keep_interpreter);

  // Of the stacks that the report shows, or of all.
  void want(SymbolResolver& resolver, bool all_stacks);
  // Takes the answers over; true if there are any that the trace did not have.
  bool keep(const SymbolResolver& resolver);
  std::optional<std::string> write() const { return known_.write(trace_); }
  void forget() { known_ = {}; }

  // Innermost first.
  std::vector<Frame> frames(StackId stack, const SymbolResolver& resolver) const;

private:
  std::vector<std::uint64_t> addresses(bool all_stacks) const;

  const Analysis& analysis_;
  std::filesystem::path trace_;
  SymbolFile known_;
  bool keep_interpreter_;
  std::vector<std::pair<std::uint64_t, const Module*>> wanted_;
};

} // namespace gmt
