// SPDX-License-Identifier: Apache-2.0
// How findings show memory accesses: the same words and stacks in each of them. For finish(), when
// the table is joined with the code.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/coalescing/access_cause.h"
#include "analyzer/detectors/detector.h"

namespace gmt {

// "step<int>", "the device function load": without parameters, which the stack below has.
std::string describe_kernel(const AccessFigures& figures);

// "4-byte loads in step<int> at step.cu:12"; "accesses in step<int> at offset 0x120" without lines.
std::string describe_accesses(const AccessFigures& figures);

// "measured in 12 of 16,353 launches"; what is known of a device function's.
std::string describe_measured(const AccessFigures& figures);

// "2.5", "31.9"; "1,024" from a thousand on.
std::string format_ratio(double value);

// A finding with all that does not depend on its kind: figures, bytes, stacks of the source's line
// and of the kernel's first launch, and what to do for want of line information at the end of its
// advice.
Finding access_finding(std::string_view kind, const MeasuredFunction& function,
                       const MeasuredInstruction& instruction, AccessFigures figures,
                       std::string advice, const KernelUses& uses, const TraceNames& names);

// What to do where the kernel is a known library's.
std::string advice_on_library_kernel(const Owner& library);

} // namespace gmt
