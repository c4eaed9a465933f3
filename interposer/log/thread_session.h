// SPDX-License-Identifier: Apache-2.0
// This thread's part of the process's session: its log.
#pragma once

#include <cstdint>

#include "interposer/log/process.h"

namespace gmt::interposer {

class ThreadLog;

struct ThreadSession {
  ThreadLog* log;       // leased; null until this thread's first event
  std::uint32_t epoch;  // of the process's session that `log` belongs to
  std::uint32_t number; // of this thread in that session, 0: it has none yet
};
extern constinit thread_local ThreadSession thread_session
  __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The log in the running session, either started if needed; null if there can be none.
inline ThreadLog* thread_log() noexcept {
  ThreadSession& t = thread_session;
  if (Process::is_current(t.epoch) && t.log != nullptr) [[likely]]
    return t.log;
  return t.log = Process::enter_thread(t.epoch, t.number);
}

// The log if a session runs: what is no CUDA call begins none.
inline ThreadLog* current_log() noexcept { return Process::is_on() ? thread_log() : nullptr; }

// Where this thread's log goes back to the free list.
void forget_thread_log() noexcept;

} // namespace gmt::interposer
