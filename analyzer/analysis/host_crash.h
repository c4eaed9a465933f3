// SPDX-License-Identifier: Apache-2.0
// The crash of the host's own code that the interposer's handler saw (trace/FORMAT.md, key `crash`
// of `info`).
#pragma once

#include <optional>

#include "analyzer/detectors/end_of_trace.h"
#include "analyzer/trace_reader/event_stream.h"

namespace gmt {

// Behind the last event. The stream gets a stack for it.
std::optional<HostCrash> read_crash(EventStream& stream);

} // namespace gmt
