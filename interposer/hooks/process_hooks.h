// SPDX-License-Identifier: Apache-2.0
// The process's own calls that matter to a trace: how it ends, what it turns into, which libraries go.
#pragma once

namespace gmt::interposer {

// Asks to be told when exit() begins; recording goes on after it.
void watch_process_end() noexcept;
// Not in a child that came up by fork, vfork or clone and has no trace of its own yet.
bool is_recorded_process() noexcept;

} // namespace gmt::interposer
