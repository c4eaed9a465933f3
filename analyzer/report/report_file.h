// SPDX-License-Identifier: Apache-2.0
// A JSON report read back, as far as a comparison with another one needs it: findings with their
// stacks, totals, who held the peak, why the run failed. Takes the reports of all versions of
// schema 1, also those without fingerprints. The reader trusts nothing in the file.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/report/report.h"

namespace gmt {

// Throws UserError (usage) that says what is wrong; `name` is the file's.
Report parse_report(std::string_view text, const std::string& name);

} // namespace gmt
