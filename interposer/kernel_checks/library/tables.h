// SPDX-License-Identifier: Apache-2.0
// The tables of all contexts. A context gets one when it allocates or launches first, and has it
// until it ends.
#pragma once

#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

// That of the current context; where this has none, one that is there. If no context has a table,
// one without a context.
Table& table() noexcept;
Table& table_at(unsigned index) noexcept;
// The table of the context that came first: what one context alone can have belongs to it.
inline Table& first_table() noexcept { return table_at(0); }
Table* table_of(CUcontext context) noexcept; // null: it has none
// The context in which the stream's work runs: of a green context's that is the primary one, whose
// variables and memory are its own. Null: the driver does not say.
CUcontext context_of_stream(CUstream stream) noexcept;
bool is_any_table() noexcept;

template <class Do> void for_each_table(Do act) noexcept {
  for (unsigned i = 0; is_any_table() && i < kMostTables; ++i) {
    if (table_at(i).context() != nullptr) act(table_at(i));
  }
}
// One for each memory.
template <class Do> void for_each_memory(Do act) noexcept {
  for_each_table([&](Table& one) {
    if (one.is_writer()) act(one);
  });
}

// `init` and patched machine code are for one context at a time.
bool may_be_several() noexcept;

// Gives the current context a table, if it may have one; false: it has none.
bool enter_table(CUcontext context) noexcept;
// The context has ended, and writes no more for those that share its table's memory.
void pass_on_writing(const Table& ended) noexcept;
// The context has ended; it may have had no table. Those that got none may try again.
void leave_table(CUcontext context) noexcept;
void forget_green_contexts() noexcept; // one has ended; it has no table of its own
void leave_tables() noexcept;
void abandon_tables() noexcept; // in a forked child

} // namespace gmt::interposer::kernel_checks
