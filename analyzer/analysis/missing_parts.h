// SPDX-License-Identifier: Apache-2.0
// Says in words what part of a trace is gone without being counted as lost.
#pragma once

#include "analyzer/analysis/event_stream.h"
#include "analyzer/model/finding.h"
#include "analyzer/analysis/process_report.h"

namespace gmt {

void explain_missing(const EventStream& stream, ProcessReport& process, Findings& findings);

} // namespace gmt
