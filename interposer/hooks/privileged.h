// SPDX-License-Identifier: Apache-2.0
// Programs that run with more rights than who starts them: the loader drops every preload there,
// without a word.
#pragma once

namespace gmt::interposer {

// "set-user-id", "set-group-id" or "file-capability" if the kernel would start the program in
// secure mode, else nullptr. `search`: a name without a slash is looked for in PATH.
const char* privilege_of(const char* program, bool search) noexcept;

} // namespace gmt::interposer
