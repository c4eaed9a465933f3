// SPDX-License-Identifier: Apache-2.0
// The NVTX injection library that the user had named before the command put ours in its place. It
// is opened as NVTX would have opened it; what it installs hears every call that it asked for,
// after us.
#pragma once

namespace gmt::interposer {

// A function of that library, null if there is none or it lacks the name.
void* next_injection(const char* name) noexcept;

} // namespace gmt::interposer
