// SPDX-License-Identifier: Apache-2.0
// Traces as one file: a tar archive of their folders, packed by zstd. It is read from a temporary
// folder of the user's, which is removed when the command ends. Errors are UserErrors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// Returns the file's bytes. What a fault left of the GPU's memory stays out: its facts are in the
// trace, and it may hold the program's data.
std::uint64_t pack_traces(const std::vector<TraceHead>& traces, const std::filesystem::path& file);

bool is_pack(const std::filesystem::path& file);

// The traces in the file, unpacked.
std::vector<std::filesystem::path> unpacked_traces(const std::filesystem::path& pack);

// The one trace that a word names: a folder, or a file with one trace in it.
std::filesystem::path one_trace(const std::string& word);

// "FILE/gpumemtrace.app.host.4711" for the folder of an unpacked trace, the path for another, and
// the folder for such a name.
std::string shown_trace(const std::filesystem::path& trace);
std::filesystem::path trace_shown_as(const std::string& shown);

} // namespace gmt
