// SPDX-License-Identifier: Apache-2.0
// `--idle`: a process that records nothing until `gpumemtrace attach` asks it to. The request is a
// word of a file that the process maps: each call looks at it, and at nothing else. A file of the
// trace's folder reaches processes of other containers, and needs no right that a debugger needs.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

// What a process knows of itself. It lies on a page that the kernel empties in a forked child.
enum class IdleState : std::uint32_t {
  kUnknown,   // not looked at yet
  kWaits,     // for a request
  kRecording, // it is asked, or was never idle
};

struct IdlePage {
  std::atomic<IdleState> state;
  std::atomic<const std::atomic<std::uint32_t>*> request; // not 0: recording is asked for
};
extern std::atomic<IdlePage*> idle_page;

// Whether there is nothing to record yet, in a process that knows itself as idle.
inline bool waits_for_request() noexcept {
  const IdlePage* page = idle_page.load(std::memory_order_acquire);
  return page != nullptr && page->state.load(std::memory_order_acquire) == IdleState::kWaits &&
         page->request.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) == 0;
}

// Under the slow lock, before a session starts: whether it shall wait. From the first call on that
// finds the request it is recorded.
bool begins_idle() noexcept;

} // namespace gmt::interposer
