// SPDX-License-Identifier: Apache-2.0
// The source line that is shown below a frame, and where in it the caret stands. Call stacks have
// no columns, so the call is looked for by its name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/reported_finding.h"

namespace gmt {

// The first of the user's frames that has a line; none in a stack of libraries alone.
std::optional<std::size_t> own_frame(const CallStack& stack);

// `text` is the line of that frame. `kernel` is what the stack launched, empty if nothing is known.
CodeLine code_line(const CallStack& stack, std::size_t frame, std::string text,
                   std::string_view kernel = {});

} // namespace gmt
