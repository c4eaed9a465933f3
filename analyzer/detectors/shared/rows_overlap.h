// SPDX-License-Identifier: Apache-2.0
// Whether two calls use a byte in common, where one or both use rows with gaps between them.
#pragma once

#include "analyzer/heap/memory_kinds.h"

namespace gmt {

// False also where it would take too long to know.
bool overlap(const Rows& a, const Rows& b);

// How many rows overlap() looks at.
std::uint64_t rows_to_compare(const Rows& a, const Rows& b);

} // namespace gmt
