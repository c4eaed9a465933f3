// SPDX-License-Identifier: Apache-2.0
// Walks stacks by the functions that were set.
#include "interposer/log/unwinder.h"

#include <atomic>

#include "interposer/log/unwinder_functions.h"

namespace gmt::interposer {

namespace {

constinit UnwinderFunctions functions{};
constinit std::atomic<bool> ready{false};

} // namespace

void set_unwinder(const UnwinderFunctions& chosen) noexcept {
  functions = chosen;
  ready.store(functions.backtrace != nullptr, std::memory_order_release);
}

bool unwinder_is_set() noexcept { return ready.load(); }

unsigned unwind(void** frames, unsigned size) noexcept {
  if (!ready.load(std::memory_order_acquire)) return 0;
  const int n = functions.backtrace(frames, static_cast<int>(size));
  return n > 0 ? static_cast<unsigned>(n) : 0;
}

void unwind_with_stack_pointers(bool (*visit)(void*, std::uint64_t, std::uint64_t),
                                void* context) noexcept {
  if (!ready.load() || functions.get_context == nullptr || functions.init_local == nullptr ||
      functions.step == nullptr || functions.get_reg == nullptr) {
    return;
  }
  unw_context_t machine;
  unw_cursor_t cursor;
  functions.get_context(&machine);
  if (functions.init_local(&cursor, &machine) != 0) return;
  do {
    unw_word_t address = 0, stack_pointer = 0;
    if (functions.get_reg(&cursor, UNW_REG_IP, &address) != 0) return;
    if (functions.get_reg(&cursor, UNW_REG_SP, &stack_pointer) != 0) return;
    if (!visit(context, address, stack_pointer)) return;
  } while (functions.step(&cursor) > 0);
}

void flush_unwinder() noexcept {
  if (ready.load() && functions.flush_cache != nullptr)
    functions.flush_cache(functions.space, 0, 0);
}

} // namespace gmt::interposer
