// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/unrecorded_calls.h"

#include "analyzer/base/text_format.h"
#include "trace/other_names.h"

#include <algorithm>

namespace gmt {

UnrecordedCalls::UnrecordedCalls(const TraceDir& trace) {
  const auto name = std::ranges::find(trace.apis, trace::kOtherName_unrecordedCalls);
  if (name != trace.apis.end()) api_ = static_cast<std::uint16_t>(name - trace.apis.begin());
  const auto range = trace.info.options.find("record_range");
  if (range != trace.info.options.end()) range_ = range->second;
}

void UnrecordedCalls::report(Findings& findings) const {
  const auto were = [](std::uint64_t calls) { return calls == 1 ? " was" : " were"; };
  if (!range_.empty())
    findings.not_checked(
      {"calls outside of the range",
       cat({"--record-range ", range_, ": ", format_plural(outside_, "call"),
            " that launch, copy or order streams", were(outside_),
            " not recorded; memory that was alive then counts as used and written"})});
  if (folded_.records != 0)
    findings.not_checked(
      {"calls that were folded",
       cat({format_plural(folded_.records - folded_.others, "call"),
            were(folded_.records - folded_.others),
            " dropped while the program ran, to stay below --max-trace, after their mistakes were "
            "looked for: right ones are in no table of copies, kernels and time, and memory that "
            "was alive then counts as used and written"})});
}

} // namespace gmt
