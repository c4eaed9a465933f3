// SPDX-License-Identifier: Apache-2.0
// Before a call that names memory by addresses: where a block lay before and the host has memory
// now, a kHostMemory record says so.
#pragma once

#include "interposer/driver_state/retired_memory.h"
#include "interposer/log/record.h"

namespace gmt::interposer {

class ThreadLog;

// The words of the record that are addresses which may be the host's.
struct NamedAddresses {
  unsigned first = 0, end = 0;
};
inline NamedAddresses named_addresses(const Record& record) noexcept {
  switch (record.kind) {
  case trace::Kind::kLaunch: return {trace::LaunchWord::kCount, record.words};
  case trace::Kind::kGraphKernel: return {trace::GraphKernelWord::kCount, record.words};
  case trace::Kind::kCopy: return {trace::CopyWord::destination, trace::CopyWord::source + 1};
  case trace::Kind::kUse: return {trace::UseWord::address, trace::UseWord::address + 1};
  default: return {};
  }
}
static_assert(trace::CopyWord::source == trace::CopyWord::destination + 1);

void note_host_memory(ThreadLog& log, const Record& record) noexcept;

// Most calls end at the first question: programs seldom free what they have allocated but for the
// end.
inline void look_for_host_memory(ThreadLog& log, const Record& record) noexcept {
  if (!any_retired_memory.load(std::memory_order_relaxed)) return;
  const NamedAddresses named = named_addresses(record);
  for (unsigned i = named.first; i < named.end; ++i) {
    if (is_retired(record.w[i])) [[unlikely]]
      return note_host_memory(log, record);
  }
}

} // namespace gmt::interposer
