// SPDX-License-Identifier: Apache-2.0
// docs/findings/ for a terminal, one section a finding. tests/report holds the sections to the
// detectors, and their programs and reports to what really happens.
#pragma once

#include <string>
#include <string_view>

namespace gmt {

// The section of this finding as plain text, empty if there is none.
std::string finding_section(std::string_view id);

} // namespace gmt
