// SPDX-License-Identifier: Apache-2.0
// Makes sentences and labels of a finding's data. This is the last step: symbols are resolved, and
// it is known how the program names its calls. What only this kind of finding says stands in its
// detector.
#pragma once

#include "analyzer/model/reported_finding.h"
#include "analyzer/symbols/runtime_names.h"

namespace gmt {

ReportedFinding in_words(Finding finding, const CallNames& names);

} // namespace gmt
