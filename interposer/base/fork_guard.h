// SPDX-License-Identifier: Apache-2.0
// Keeps a fork out of the moments in which a thread of ours holds a lock that the child could never
// get back: the loader's list of objects, libunwind's cache, the session's own. The child of a
// program with many threads would hang in its first dlopen, exception or captured stack.
#pragma once

namespace gmt::interposer {

// Between the two no other thread forks, and this thread is not cancelled. They nest, also through
// a signal handler; many threads may be inside.
void enter_locks() noexcept;
void leave_locks() noexcept;

class InsideLocks {
public:
  InsideLocks() noexcept { enter_locks(); }
  ~InsideLocks() { leave_locks(); }
  InsideLocks(const InsideLocks&) = delete;
  InsideLocks& operator=(const InsideLocks&) = delete;
};

} // namespace gmt::interposer
