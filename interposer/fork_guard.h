// SPDX-License-Identifier: Apache-2.0
// Keeps a fork out of the moments in which a thread of ours holds a lock that the child could never get back: the
// loader's list of objects and libunwind's cache. The child of a program with many threads would hang in its first
// dlopen, exception or captured stack. Used by modules.cpp and unwinder_imports.cpp.
#pragma once

namespace gmt::interposer {

// Called once, when the first session starts.
void watch_forks() noexcept;

// Between the two no other thread forks, and this thread is not cancelled. They nest, also through a signal handler;
// many threads may be inside.
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
