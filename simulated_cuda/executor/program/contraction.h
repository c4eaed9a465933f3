// SPDX-License-Identifier: Apache-2.0
// Multiplications and additions that the compiler of a GPU may join into one fma, which rounds
// once: PTX allows it where neither names how it rounds.
#pragma once

#include "ptx/syntax/ptx.h"

#include <set>
#include <string>

namespace gmt::executor {

// Of the code of a function, such as "mul.f32 and add.f32".
std::set<std::string> joinable_operations(const ptx::Body& body);

} // namespace gmt::executor
