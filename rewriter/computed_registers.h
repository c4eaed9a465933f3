// SPDX-License-Identifier: Apache-2.0
// Which registers of a function may hold a value that was computed, not only moved. The executor
// checks what is stored of these alone; it counts more instructions as computing.
#pragma once

#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

// By the register's number in the function.
std::vector<bool> computed_registers(const ptx::Body& body);

} // namespace gmt::rewriter
