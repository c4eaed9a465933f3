// SPDX-License-Identifier: Apache-2.0
// Instruction::extra of a fence that is a part of an access, beside kBlockScope: PTX's ld.acquire
// lets its thread know what others released, and lets others know nothing of that by a relaxed
// store behind it; st.release likewise acquires nothing. A fence by itself does both.
#pragma once

#include <cstdint>

namespace gmt::executor {

inline constexpr std::uint32_t kOnlyAcquires = 1, kOnlyReleases = 2;

// Of "strong.ld", beside the bytes: the load is ld.relaxed, not volatile, and no half of a fence
// stands behind it. Programs say so where they mean no order.
inline constexpr std::uint32_t kRelaxedLoad = 0x100;

} // namespace gmt::executor
