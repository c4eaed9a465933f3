// SPDX-License-Identifier: Apache-2.0
// Core dumps of GPUs that the driver wrote into a trace's folder (gpu-core.<pid>): what a report
// needs of them becomes the trace's file `core-dump`, and the dumps are deleted, unless the trace's
// option keep_core_dump says otherwise. Where it cannot be written, as in a trace of another user,
// it stands in the trace's head.
#pragma once

#include <string>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// Returns a sentence if that could not be done, else nothing. Without effect while the process may
// still be writing one.
std::string collect_core_dumps(TraceHead& trace);

} // namespace gmt
