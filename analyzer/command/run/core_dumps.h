// SPDX-License-Identifier: Apache-2.0
// Core dumps of GPUs that the driver wrote into a trace's folder (gpu-core.<pid>): what a report
// needs of them becomes the trace's file `core-dump`, and the dumps are deleted, unless the trace's
// option keep_core_dump says otherwise.
#pragma once

#include <filesystem>
#include <string>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// Returns a sentence if that could not be done, else nothing. Without effect while the process may
// still be writing one.
std::string collect_core_dumps(const std::filesystem::path& trace);

} // namespace gmt
