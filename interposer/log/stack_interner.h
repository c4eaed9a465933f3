// SPDX-License-Identifier: Apache-2.0
// Call stacks: captured by libunwind's cached fast path (unwinder.h) and interned per log, so that
// a record holds a number. A stack that keeps coming back is verified instead of walked: it is the
// same if every return address lies where it lay, which costs one load a frame. The tables change
// with signals blocked only: a handler on the same thread sees them whole. Where the process runs
// Python, its frames are a part of the stack.
#pragma once

#include <cstdint>

#include "interposer/log/id_table.h"
#include "interposer/log/python/python_stacks.h"
#include "trace/format.h"

namespace gmt::interposer {

class ThreadLog;

class StackInterner {
public:
  // Id of the current call stack, 0 if it cannot be known. `caller` is the hooked call's return
  // address, `frame` the address of its entry's frame.
  std::uint32_t here(ThreadLog& log, const void* caller, const void* frame) noexcept;

  // Another thread or another file goes on with this log: nothing known of the old stack holds.
  void clear() noexcept;
  void forget_known() noexcept;

private:
  // Where four return addresses lie, from the entry's frame upwards. A stack's last one fills up
  // its last four.
  struct StackRow {
    std::uint64_t address[4];
    std::uint32_t offset[4]; // in words
  };
  // A stack that has been seen from one call site. Several share a site: same function, same depth,
  // other callers.
  struct Known {
    const void* caller;
    const void* frame;
    const StackRow* first_row;
    std::uint32_t id;   // 0: empty
    std::uint32_t rows; // how many; 0: seen once, not learned yet
  };
  static constexpr unsigned kWays = 8;
  static constexpr unsigned kSets = 64;

  std::uint32_t native_here(ThreadLog& log, const void* caller, const void* frame) noexcept;
  [[gnu::noinline]] std::uint32_t with_python(ThreadLog& log, const python::Interpreter& python,
                                              std::uint32_t native) noexcept;
  static bool holds(const Known& known) noexcept;
  [[gnu::cold, gnu::noinline]] void modules_have_changed() noexcept;
  std::uint32_t walk(ThreadLog& log, Known* set, const void* caller, const void* frame) noexcept;
  [[gnu::noinline]] std::uint32_t walk_here(ThreadLog& log, Known* set, const void* caller,
                                            const void* frame, unsigned own_frames) noexcept;
  void learn(Known& known, void** frames, unsigned count) noexcept;
  std::uint32_t intern(ThreadLog& log, void** frames, unsigned count) noexcept;
  std::uint32_t add(ThreadLog& log, void** frames, unsigned count, std::uint64_t hash) noexcept;

  std::uint32_t epoch_ = 0;  // of the loaded modules: stacks from before an unload are not reused
  std::uint32_t victim_ = 0; // way that is given up next
  StackRow* rows_ = nullptr; // some for each known stack
  IdTable table_;            // of native stacks
  PythonStacks python_;
  std::uint32_t last_id_ = 0; // of all stacks
  Known known_[kSets * kWays] = {};
};

} // namespace gmt::interposer
