// SPDX-License-Identifier: Apache-2.0
// Walks stacks by the functions that were set.
#include "interposer/log/unwinder.h"

#include <atomic>

#include "interposer/log/unwinder_functions.h"

namespace gmt::interposer {

namespace {

constinit UnwinderFunctions unwinder_functions{};
constinit std::atomic<bool> unwinder_is_ready{false};

} // namespace

void set_unwinder(const UnwinderFunctions& chosen) noexcept {
  unwinder_functions = chosen;
  unwinder_is_ready.store(unwinder_functions.backtrace != nullptr, std::memory_order_release);
}

bool unwinder_is_set() noexcept { return unwinder_is_ready.load(); }

unsigned unwind(void** frames, unsigned size) noexcept {
  if (!unwinder_is_ready.load(std::memory_order_acquire)) return 0;
  const int n = unwinder_functions.backtrace(frames, static_cast<int>(size));
  return n > 0 ? static_cast<unsigned>(n) : 0;
}

void unwind_with_stack_pointers(bool (*visit)(void*, std::uint64_t, std::uint64_t),
                                void* context) noexcept {
  if (!unwinder_is_ready.load() || unwinder_functions.get_context == nullptr ||
      unwinder_functions.init_local == nullptr || unwinder_functions.step == nullptr ||
      unwinder_functions.get_reg == nullptr) {
    return;
  }
  unw_context_t machine;
  unw_cursor_t cursor;
  unwinder_functions.get_context(&machine);
  if (unwinder_functions.init_local(&cursor, &machine) != 0) return;
  do {
    unw_word_t address = 0, stack_pointer = 0;
    if (unwinder_functions.get_reg(&cursor, UNW_REG_IP, &address) != 0) return;
    if (unwinder_functions.get_reg(&cursor, UNW_REG_SP, &stack_pointer) != 0) return;
    if (!visit(context, address, stack_pointer)) return;
  } while (unwinder_functions.step(&cursor) > 0);
}

void flush_unwinder() noexcept {
  if (unwinder_is_ready.load() && unwinder_functions.flush_cache != nullptr)
    unwinder_functions.flush_cache(unwinder_functions.space, 0, 0);
}

} // namespace gmt::interposer
