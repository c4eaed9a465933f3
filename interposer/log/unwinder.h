// SPDX-License-Identifier: Apache-2.0
// libunwind, opened privately: linked, it would put its _Unwind_* functions before libgcc's for the
// whole program. Everything answers "nothing" while the library is not there.
#pragma once

#include <cstdint>

namespace gmt::interposer {

// Opens libunwind from the folder of this library, else the distribution's. Called once, when a
// session starts.
void open_unwinder() noexcept;

// Return addresses, innermost first, at most `size`.
unsigned unwind(void** frames, unsigned size) noexcept;

// The same walk, slow and exact: gives of each frame its return address and the stack pointer in it
// (that is, the address behind the one where its callee's return address lies). Stops when visit()
// answers false.
void unwind_with_stack_pointers(bool (*visit)(void* context, std::uint64_t address,
                                              std::uint64_t stack_pointer),
                                void* context) noexcept;

// A library is gone: what the unwinder remembers of its addresses is wrong.
void flush_unwinder() noexcept;

} // namespace gmt::interposer
