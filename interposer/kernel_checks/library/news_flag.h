// SPDX-License-Identifier: Apache-2.0
// A word of the host's memory that checked code sets behind a mistake: a wait costs no copy from
// the device as long as it is 0.
#pragma once

#include <cstdint>

namespace gmt::interposer::kernel_checks {

// Makes the word known to the current context; its address on the device, 0 if there is none.
std::uint64_t share_flag() noexcept;
// Whether something may have been recorded since the last call; true, too, if the word is not
// shared.
bool take_flag() noexcept;
void forget_flag() noexcept; // the context has ended

} // namespace gmt::interposer::kernel_checks
