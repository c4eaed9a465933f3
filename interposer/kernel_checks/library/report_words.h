// SPDX-License-Identifier: Apache-2.0
// What reports of checked forms and of patches have in common.
#pragma once

#include <algorithm>
#include <utility>

#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "trace/execution_observer.h"

namespace gmt::interposer::kernel_checks {

// By the table's entry for an address, whether memory was there.
inline bool is_of_freed(std::int32_t entry, std::uint64_t address) noexcept {
  return entry == rewriter::kFreedEntry ||
         (entry == rewriter::kUnmappedEntry && was_released(address));
}

inline void describe_launch(trace::ExecutionLaunch& to, const Launch& launch) noexcept {
  (is_of_node(launch) ? to.made : to.call) = launch.call;
  to.context = reinterpret_cast<std::uint64_t>(table_at(launch.table).context());
  to.stream = launch.stream;
  to.function = launch.function;
  to.kernel = launch.kernel;
  std::ranges::copy(launch.grid, to.grid);
  std::ranges::copy(launch.block, to.block);
}

// By block, then by thread: records come in no order, and a report shall be the same each time.
template <class Record> bool is_before(const Record& a, const Record& b) noexcept {
  for (const auto& [left, right] : {std::pair(a.block, b.block), std::pair(a.thread, b.thread)}) {
    for (unsigned i = 3; i-- > 0;) {
      if (left[i] != right[i]) return left[i] < right[i];
    }
  }
  return false;
}

} // namespace gmt::interposer::kernel_checks
