// SPDX-License-Identifier: Apache-2.0
// The table's rows as numbers and names, without any CUDA header. Ids are valid within one build; a trace carries
// its own names in the file `apis`.
#pragma once

#include <cstdint>

namespace gmt::trace {

enum ApiId : std::uint16_t {
#define DRV(symbol, ...) kApi_##symbol,
#define RT(symbol, ...) kApi_##symbol,
#include "trace/cuda_api.def"
  kApiCount,
};

inline constexpr const char* kApiNames[] = {
#define DRV(symbol, ...) #symbol,
#define RT(symbol, ...) #symbol,
#include "trace/cuda_api.def"
};

// Rows of the driver come first: row < kDriverApiCount is a driver row.
inline constexpr std::uint16_t kDriverApiCount = 0
#define DRV(symbol, ...) +1
#include "trace/cuda_api.def"
    ;

} // namespace gmt::trace
