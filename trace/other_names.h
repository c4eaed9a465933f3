// SPDX-License-Identifier: Apache-2.0
// The names of trace/other_api.def, for who looks for one in a trace: unlike api_id.h it is not
// compiled again for each row of trace/cuda_api.def.
#pragma once

namespace gmt::trace {

#define OTHER(symbol) inline constexpr const char* kOtherName_##symbol = #symbol;
#include "trace/other_api.def"

} // namespace gmt::trace
