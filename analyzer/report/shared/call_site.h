// SPDX-License-Identifier: Apache-2.0
// What stands for a whole call stack where there is room for one line.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/model/reported_finding.h"

namespace gmt {

// Index of the first of the user's frames with a line, else of the innermost frame with a line:
// what a reader can open. 0 if there is none.
std::size_t shown_frame(const CallStack& stack);

// "PyTorch's autograd engine, AddmmBackward0" for a stack of a thread that PyTorch runs the
// backward pass on, which has no frame of the user's; else empty.
std::string backward_pass_of(const CallStack& stack);

} // namespace gmt
