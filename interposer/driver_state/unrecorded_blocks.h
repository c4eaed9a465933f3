// SPDX-License-Identifier: Apache-2.0
// Addresses of blocks whose allocation found no room in the trace. Their releases would say nothing
// and take the room of others, so they are not recorded either. What finds no room here is
// forgotten: then its release is recorded, and the block is one that was never seen allocated.
// Nothing here takes a lock or allocates.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

extern std::atomic<bool> any_unrecorded_blocks;

// After an accepted allocation.
[[gnu::cold]] void follow_unrecorded_blocks(const Record& allocation, bool is_recorded) noexcept;
[[gnu::cold]] bool take_unrecorded_block(const Record& release) noexcept; // false: it is none
// Whether the release is of such a block, which is gone then.
inline bool is_unrecorded(const Record& record) noexcept {
  return any_unrecorded_blocks.load(std::memory_order_relaxed) &&
         record.kind == trace::Kind::kFree && take_unrecorded_block(record);
}
void forget_unrecorded_blocks() noexcept; // a forked child makes its own trace

} // namespace gmt::interposer
