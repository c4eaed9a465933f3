// SPDX-License-Identifier: Apache-2.0
// Paths as text. For paths of a trace, which need not exist on this machine.
#pragma once

#include <string_view>

namespace gmt {

// What stands behind the last slash: "/usr/lib/libc.so.6" -> "libc.so.6". Empty for a path that
// ends with one.
constexpr std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

} // namespace gmt
