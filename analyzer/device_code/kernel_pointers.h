// SPDX-License-Identifier: Apache-2.0
// What kernels do with the memory behind their pointers, read from the PTX that the program's files
// and its images hold. Asked once for a trace, at the end. A kernel of which no PTX is found, in
// time, is unknown; where several files have one of that name, only what all of them do is said.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/trace_reader/trace_dir.h"
#include "ptx/flow/pointer_uses.h"

namespace gmt {

// One for each of a kernel's parameters; empty: unknown.
using PointerUses = std::vector<ptx::PointerUse>;
// Of the kernels of these names, as linked, in their order.
using FindPointerUses = std::function<std::vector<PointerUses>(std::span<const std::string>)>;

std::vector<PointerUses> pointer_uses_of_kernels(const TraceDir& trace,
                                                 std::span<const std::string> kernels);

} // namespace gmt
