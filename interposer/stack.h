// SPDX-License-Identifier: Apache-2.0
// Call stacks: captured by libunwind's cached fast path, opened privately (it must not put its _Unwind_* functions
// before libgcc's for the whole program), and interned per log, so that a record holds a number. Used by session.cpp.
// The table changes with signals blocked only: a handler on the same thread sees it whole.
#pragma once

#include <cstdint>

#include "trace/format.h"

namespace gmt::interposer {

class ThreadLog;

class StackInterner {
public:
  // Id of the current call stack, 0 if it cannot be known. Walks the stack.
  std::uint32_t here(ThreadLog& log) noexcept;

  // The same for calls that are frequent and cheap: a call site (return address and frame) seen before costs no
  // walk. Two callers that reach one site at the same stack depth share the first one's stack.
  std::uint32_t at_site(ThreadLog& log, const void* caller, const void* frame) noexcept;

  void clear() noexcept;

private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id;
  };
  struct Site {
    const void* caller;
    const void* frame;
    std::uint32_t id;
    std::uint32_t epoch;
  };
  static constexpr unsigned kSites = 256;

  std::uint32_t intern(ThreadLog& log, void** frames, unsigned count) noexcept;
  std::uint32_t add(ThreadLog& log, void** frames, unsigned count, std::uint64_t hash) noexcept;
  bool grow() noexcept;

  Entry* table_ = nullptr; // open addressing; a free entry has id 0
  std::uint32_t mask_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t next_id_ = 0;
  std::uint32_t epoch_ = 0; // of the loaded modules: stacks from before an unload are not reused
  Site sites_[kSites] = {};
};

// Opens libunwind from the folder of this library. Called once, when the session starts.
void open_unwinder() noexcept;

} // namespace gmt::interposer
