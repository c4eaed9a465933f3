// SPDX-License-Identifier: Apache-2.0
// docs/findings.md for a terminal. Called by `help`. One section a finding; tests/report holds the sections to
// the detectors and their programs and reports to the truth.
#pragma once

#include <string>
#include <string_view>

namespace gmt {

// The section of this finding as plain text, empty if there is none.
std::string finding_section(std::string_view id);

} // namespace gmt
