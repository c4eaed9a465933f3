// SPDX-License-Identifier: Apache-2.0
// Failed calls that are no mistake: those that ask a question which "no" is an answer to, and the
// runtime's own first tries.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt {

// `name` is the function's, in either of CUDA's two APIs.
bool is_expected_failure(std::string_view name, std::uint16_t code);

// Codes after which the runtime makes a context and calls again (seen with cudart 13.0).
constexpr bool is_retried(std::uint16_t code) { return code == 3 || code == 201 || code == 709; }

} // namespace gmt
