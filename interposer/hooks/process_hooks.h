// SPDX-License-Identifier: Apache-2.0
// The process's own calls that matter to a trace: how it ends, what it turns into, which libraries
// go.
#pragma once

namespace gmt::interposer {

// Asks to be called when exit() begins; recording goes on after it.
void watch_process_end() noexcept;

} // namespace gmt::interposer
