// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/mbarrier.h"

#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {

std::uint64_t change_mbarrier(Block& block, std::uint64_t offset, const MbarrierChange& change) {
  std::uint64_t before;
  std::memcpy(&before, block.shared + offset, sizeof before);
  Mbarrier now(before);
  now.bytes += static_cast<std::int32_t>(change.bytes);
  now.expected -= change.dropped;
  now.pending += change.announced;
  now.pending -= std::min(now.pending, change.arrivals);
  if (now.pending == 0 && now.bytes == 0) {
    now.phase ^= 1;
    now.pending = now.expected;
    if (block.is_ordered) block.order.complete(offset);
  }
  const std::uint64_t after = now.value();
  std::memcpy(block.shared + offset, &after, sizeof after);
  return before;
}

} // namespace gmt::executor
