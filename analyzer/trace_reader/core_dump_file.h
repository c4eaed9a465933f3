// SPDX-License-Identifier: Apache-2.0
// The trace's `core-dump` file (trace/FORMAT.md): what GPU core dumps of the process said, reduced
// to what a report needs. Lines that make no sense are left out and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/core_dump.h"

namespace gmt {

std::vector<CoreDump> parse_core_dumps(std::string_view text, std::uint64_t& damaged_lines);

// Replaces the trace's file in one step. On failure a sentence that says why, nothing on success.
std::optional<std::string> write_core_dumps(const std::filesystem::path& trace,
                                            const std::vector<CoreDump>& dumps);

} // namespace gmt
