// SPDX-License-Identifier: Apache-2.0
// Removal of traces. The only code of the command that removes what it has not just made.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

struct TraceSize {
  std::uint64_t bytes = 0;   // of its files
  std::chrono::hours age{0}; // since the last of them was written
};
TraceSize size_of_trace(const std::filesystem::path& trace);

// Why the trace must stay, half a sentence; empty if it may go. It stays where its process may
// still run, and where the folder is another user's, a link, does not have a trace's name, or holds
// anything that no trace holds.
std::string why_not_removable(const TraceHead& trace);

// Removes a trace's files and then the folder, if nothing else lies there. Why it could not be
// removed; empty on success.
std::string remove_trace(const std::filesystem::path& trace);

} // namespace gmt
