// SPDX-License-Identifier: Apache-2.0
// The table's rows as numbers and names, without any CUDA header. Ids are valid within one build; a
// trace carries its own names in the file `apis`. The CUDA rows have entries and stubs; the names
// after them (other_api.def) do not.
#pragma once

#include <cstdint>

#include "trace/ordering.h"

namespace gmt::trace {

enum ApiId : std::uint16_t {
#define DRV(symbol, ...) kApi_##symbol,
#define RT(symbol, ...) kApi_##symbol,
#include "trace/cuda_api.def"
  kApiCount,
};

// Names that follow the rows.
enum OtherApiId : std::uint16_t {
  kBeforeOther = kApiCount - 1,
#define OTHER(symbol) kOther_##symbol,
#include "trace/other_api.def"
};

inline constexpr const char* kApiNames[] = {
#define DRV(symbol, ...) #symbol,
#define RT(symbol, ...) #symbol,
#include "trace/cuda_api.def"
#define OTHER(symbol) #symbol,
#include "trace/other_api.def"
};

// Rows of the driver come first: row < kDriverApiCount is a driver row.
inline constexpr std::uint16_t kDriverApiCount = 0
#define DRV(symbol, ...) +1
#include "trace/cuda_api.def"
  ;

// How the driver's rows order work, by row.
inline constexpr Ordering kApiOrderings[kDriverApiCount] = {
#define DRV(symbol, base, introduced, order, ...) Ordering::k##order,
#include "trace/cuda_api.def"
};

} // namespace gmt::trace
