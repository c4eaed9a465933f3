// SPDX-License-Identifier: Apache-2.0
// What models of floating-point share: the rounding that a form names, and what becomes of a
// result.
#pragma once

#include "tests/executor/forms/model/exact.h"
#include "tests/executor/forms/model/model.h"

namespace gmt::forms::model {

struct Finish {
  bool flush = false, saturate = false, relu = false;
};

Rounding rounding_of(const Words& words);
bool is_nan(std::uint64_t pattern, const Format& format);
bool is_subnormal(std::uint64_t pattern, const Format& format); // or zero
std::uint64_t finished(std::uint64_t pattern, const Format& format, const Finish& finish);
// `expected`; of a NaN where any will do, the one that was found.
std::uint64_t with_found_nan(std::uint64_t expected, std::uint64_t found, const Format& format,
                             bool any_nan);

} // namespace gmt::forms::model
