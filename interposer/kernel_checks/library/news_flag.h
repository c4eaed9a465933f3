// SPDX-License-Identifier: Apache-2.0
// Memory of the host that devices write or read, for each table. Its first word is set by checked
// code behind a mistake: a wait costs no copy from a device as long as it is 0. Behind a page are
// copies of records, for when nothing can be copied from the device any more.
#pragma once

#include <cstdint>

#include "rewriter/rewriter.h"

namespace gmt::interposer::kernel_checks {

// Makes a table's words known to the current context; the address on the device, 0 if there is
// none.
std::uint64_t share_flag(unsigned table) noexcept;
// Whether something may have been recorded for the table since the last call; true, too, if its
// word is not shared.
bool take_flag(unsigned table) noexcept;
void forget_flag(unsigned table) noexcept; // the context has ended

// A second word, behind the first: from when it is set, marks of pools' memory say that nothing is
// known of it, those that are queued already, too.
inline constexpr std::uint64_t kBetweenFlags = 4;
void distrust_pools() noexcept;
// A third one for regions of pools, which may be trusted again.
inline constexpr std::uint64_t kRegionsFlag = 2 * kBetweenFlags;
void distrust_regions(bool are_distrusted) noexcept;

inline constexpr std::uint64_t kBehindFlags = 4096;                 // from the first word on
const rewriter::HostRecords* host_records(unsigned table) noexcept; // null: they are not shared

} // namespace gmt::interposer::kernel_checks
