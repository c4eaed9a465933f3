// SPDX-License-Identifier: Apache-2.0
// Instructions and threads in words: text, function, lines.
#pragma once

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/program/program.h"

namespace gmt::executor {

Place place_of(const Code& code, std::uint32_t source);

// A thread of a block by its number.
Extent thread_extent(const Launch& launch, std::uint32_t thread);

} // namespace gmt::executor
