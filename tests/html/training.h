// SPDX-License-Identifier: Apache-2.0
// The trace of a made-up training program, as an interposer would write it: epochs with NVTX
// ranges, weights that stay, activations that come and go, a batch that does not fit, a leak. Its
// stacks are of Python and C++ frames, which get their names when the report is made.
#pragma once

#include <filesystem>

#include "analyzer/report/report.h"

namespace gmt::test {

// Writes the trace into the folder and the program's source beside it, and reports on it.
Report training_report(const std::filesystem::path& folder);

// Gives every text that a program can choose a name that would end an element or run a script.
void make_hostile(Report& report);

} // namespace gmt::test
