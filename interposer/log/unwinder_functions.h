// SPDX-License-Identifier: Apache-2.0
// The functions by which stacks are walked: libunwind's, in its own types.
#pragma once

#define UNW_LOCAL_ONLY
#include <libunwind.h>

namespace gmt::interposer {

struct UnwinderFunctions { // any may be null
  int (*backtrace)(void**, int);
  int (*get_context)(unw_context_t*);
  int (*init_local)(unw_cursor_t*, unw_context_t*);
  int (*step)(unw_cursor_t*);
  int (*get_reg)(unw_cursor_t*, unw_regnum_t, unw_word_t*);
  void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
  unw_addr_space_t space;
};

// Once a process, before other threads walk stacks. Without backtrace() nothing is walked.
void set_unwinder(const UnwinderFunctions& functions) noexcept;
bool unwinder_is_set() noexcept;

} // namespace gmt::interposer
