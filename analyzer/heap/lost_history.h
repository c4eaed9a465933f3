// SPDX-License-Identifier: Apache-2.0
// The verdict on a release that CUDA refused behind lost records: a mistake for certain, but what
// lay at the address is not known.
#pragma once

#include "analyzer/heap/verdict.h"

namespace gmt {

inline constexpr Verdict kReleaseWithLostHistory{.kind = Verdict::Kind::kInvalidFreeUnknown,
                                                 .offset = UINT64_MAX};
inline bool has_lost_history(const Verdict& verdict) {
  return verdict.kind == kReleaseWithLostHistory.kind &&
         verdict.offset == kReleaseWithLostHistory.offset;
}

} // namespace gmt
