// SPDX-License-Identifier: Apache-2.0
// Failed calls that are no mistake: those that ask a question which "no" is an answer to, and the
// runtime's own first tries. Which records are calls at all.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyzer/model/event.h"

namespace gmt {

// `name` is the function's, in either of CUDA's two APIs.
bool is_expected_failure(std::string_view name, std::uint16_t code);

// Whether the record is a call that may have failed by itself: not one that is in flight, nor one
// inside another call, nor the second record of a call, nor the C library's free().
bool is_checked_call(const Event& e);

// Codes after which the runtime makes a context and calls again (seen with cudart 13.0).
constexpr bool is_retried(std::uint16_t code) { return code == 3 || code == 201 || code == 709; }

} // namespace gmt
