// SPDX-License-Identifier: Apache-2.0
// The trace's `symbols` file (trace/FORMAT.md): frames resolved once, where the binaries were, so
// that a report made elsewhere shows the same. Read and written by the report builder. A file that
// is missing, damaged or from another hand is no error: what cannot be used is skipped. Address,
// loaded order and module offset are hexadecimal as in `modules`, line numbers are decimal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/finding.h"

namespace gmt {

class SymbolFile {
public:
  static SymbolFile read(const std::filesystem::path& trace);

  // Frames of an address in the module loaded at that order, innermost first; nullptr if they are
  // not there.
  const std::vector<Frame>* find(std::uint64_t address, std::uint64_t loaded) const;
  void set(std::uint64_t address, std::uint64_t loaded, std::vector<Frame> frames);
  std::size_t size() const { return frames_.size(); }

  // Replaces the trace's file in one step. On failure a sentence that says why, nothing on success.
  std::optional<std::string> write(const std::filesystem::path& trace) const;

private:
  // By address and loaded order
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Frame>> frames_;
};

} // namespace gmt
