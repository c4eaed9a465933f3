// SPDX-License-Identifier: Apache-2.0
// What the processes of a run leave unchecked, together: the lines "not checked" of their analyses,
// and what only their modules and code show.
#pragma once

#include <filesystem>
#include <vector>

#include "analyzer/analysis/analysis.h"

namespace gmt {

// Unless the list has it.
void note_not_checked(std::vector<NotChecked>& list, NotChecked entry);

// `traces`: the folder of each analysis. Looks into the code of their modules for a fifth of a
// second at most.
void add_report_gaps(const std::vector<Analysis>& analyses,
                     const std::vector<std::filesystem::path>& traces,
                     std::vector<NotChecked>& list);

} // namespace gmt
