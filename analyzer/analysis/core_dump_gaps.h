// SPDX-License-Identifier: Apache-2.0
// Why a fault of a kernel could not be named, though a core dump of the GPU was asked for.
#pragma once

#include "analyzer/detectors/detector.h"
#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

void explain_core_dump(const TraceDir& trace, bool is_sticky, Findings& findings);

} // namespace gmt
