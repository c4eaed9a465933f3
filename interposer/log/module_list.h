// SPDX-License-Identifier: Apache-2.0
// The trace's `modules`: which object files are mapped where, as they come and go.
#pragma once

namespace gmt::interposer {

// Writes what is new if one of these addresses lies in no module known so far.
void note_modules_of(void* const* addresses, unsigned count) noexcept;
void note_all_modules() noexcept;
void forget_noted_modules() noexcept; // a forked child begins its own file

} // namespace gmt::interposer
