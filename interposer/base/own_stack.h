// SPDX-License-Identifier: Apache-2.0
// Slow work on a stack of our own where the program's is small: a thread may have 16 KiB in all, a
// signal handler 8 KiB, a fiber what its library gave it, and a walk through the call stack or a
// library's opening needs more than that. What runs there can be unwound through into the program's
// frames. Signals wait meanwhile: a handler of the program's must not find itself on a stack that
// it does not know, nor on one as small as this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gmt::interposer {

// Twice what was seen to be used: of a session's start with a library's opening, and of a new call
// stack.
inline constexpr std::size_t kRoomForAll = 32 << 10;
inline constexpr std::size_t kRoomForCapture = 16 << 10;

// The part of this thread's stack that is known to be its own and mapped. Empty until a slow path
// asks.
struct StackRange {
  std::uintptr_t low, high;
};
extern constinit thread_local StackRange known_stack
  __attribute__((tls_model("initial-exec"), visibility("hidden")));

// Whether the stack goes on for `bytes` below this address, as the kernel and the C library say it.
[[gnu::cold, gnu::noinline]] bool find_room(std::uintptr_t below, std::size_t bytes) noexcept;
[[gnu::cold, gnu::noinline]] void run_on_own_stack(void (*work)(void*), void* argument) noexcept;

inline bool has_room(std::size_t bytes) noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool known = here < known_stack.high && here - bytes >= known_stack.low;
  return known || find_room(here, bytes);
}

// Calls work(moved): whether it runs on a stack of ours. `work` keeps large arrays in functions
// that are not inlined, or the caller's frame has them all the same. It must not throw nor call
// back into the program.
template <std::size_t Bytes = kRoomForAll, class Work> inline void with_room(Work&& work) noexcept {
  if (has_room(Bytes)) [[likely]]
    return work(false);
  run_on_own_stack([](void* argument) { (*static_cast<Work*>(argument))(true); }, &work);
}

} // namespace gmt::interposer
