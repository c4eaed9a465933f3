// SPDX-License-Identifier: Apache-2.0
// --host-races: pages of pinned and registered memory, on the simulated device of managed memory as
// well, that an asynchronous copy uses are protected from its call on, so that the host's own
// access of them faults. A GPU reaches them as before, and the simulated device opens them. Such a
// page is open again where a call may have let the host know that the copy is done, and for good
// after its first use. The analyzer's clocks know whether anything ordered that use.
//
// Protected are pages that lie wholly inside one block, and of a large copy the first, one in the
// middle and the last. Registered memory that the program may not write is left as it is. What a
// copy reads, the host may read, too. Nothing here allocates, and nothing is used that is
// protected: the lock is never held where a thread faults.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

extern std::atomic<bool> watches_host; // --host-races is on, and nothing has turned it off

// From now on. `begins` is called in the first call that is followed; `may_protect` is asked each
// time before pages are protected.
struct HostWatcher {
  void (*begins)() noexcept;
  bool (*may_protect)() noexcept;
};
void begin_host_watches(const HostWatcher& by) noexcept;
// For good: all is open. In may_protect() it is enough to clear watches_host and to answer false.
void end_host_watches() noexcept;
void forget_host_watches() noexcept;        // a forked child has none of it
void open_host_watches_in_child() noexcept; // at once, in the fork itself

// What a recorded call changes. `order` is that of its record; the call has succeeded.
void follow_host_watches(const Record& record, std::uint64_t order) noexcept;

// The copies, by the order of their calls, that the host met.
struct UsedCopies {
  static constexpr unsigned kMost = 4;
  std::uint64_t orders[kMost];
  unsigned count = 0;
  std::uint64_t closings = 0; // grows with each copy; of open_faulted_page()
};
// After a fault. False: no page there is, or was, one of ours. Else it is open now.
bool open_faulted_page(std::uint64_t address, bool writes, UsedCopies& copies) noexcept;
// Before the system itself uses the bytes, as read() does, which would answer EFAULT.
void open_used_memory(std::uint64_t address, std::uint64_t bytes, bool writes,
                      UsedCopies& copies) noexcept;

} // namespace gmt::interposer
