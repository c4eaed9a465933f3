// SPDX-License-Identifier: Apache-2.0
// The traces that words of the command line name: a trace itself, or a folder whose newest run is
// meant. Errors are UserErrors of status 3.
#pragma once

#include <string>
#include <vector>

#include "analyzer/trace_reader/trace_dir.h"

namespace gmt {

// Without words, the newest run of the current directory. Each trace once. Records that kernels
// left in shared memory are brought in.
std::vector<TraceHead> chosen_traces(const std::vector<std::string>& words);

std::vector<TraceDir> opened_traces(std::vector<TraceHead> heads);

} // namespace gmt
