// SPDX-License-Identifier: Apache-2.0
// What stands for a whole call stack where there is room for one line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/reported_finding.h"

namespace gmt {

// Index of the first of the user's frames with a line, else of the innermost frame with a line:
// what a reader can open. 0 if there is none.
std::size_t shown_frame(const CallStack& stack);

// Call stacks that allocate through the same constructor or factory have the same shown frame. For
// each stack: the first of the user's frames, outward from there, with which it differs from all
// that it differs from. None where no other stack has its shown frame, or none of the user's frames
// differs. Functions and lines are compared; templates with other arguments are other functions.
std::vector<std::optional<std::size_t>> differing_frames(std::span<const CallStack* const> stacks);

// "PyTorch's autograd engine, AddmmBackward0" for a stack of a thread that PyTorch runs the
// backward pass on, which has no frame of the user's; else empty.
std::string backward_pass_of(const CallStack& stack);

// Where a tensor was made, in words behind "made": "at <file>:<line>", "by PyTorch's autograd
// engine, AddmmBackward0"; empty if nothing is known.
std::string tensor_site(const CallStack& stack);

// Who keeps a tensor as long as the process lives: "PyTorch's cuBLAS workspace". Empty: the
// program.
std::string_view keeper_of_tensor(const CallStack& stack);

} // namespace gmt
