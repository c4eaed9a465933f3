// SPDX-License-Identifier: Apache-2.0
// A Python frame of a call stack, as the trace names it. Its texts live as long as the trace does.
#pragma once

#include <cstdint>
#include <string_view>

namespace gmt {

struct PythonLine {
  std::string_view function, file; // qualified name; both may be empty
  std::uint32_t line = 0;          // 0 unknown
};

} // namespace gmt
