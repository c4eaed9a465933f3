// SPDX-License-Identifier: Apache-2.0
// What reports add to the name of the call that ended a context, where the program may not have
// written that call itself.
#pragma once

#include <string_view>

namespace gmt {

inline std::string_view note_on_context_end(std::string_view api) {
  return api == "cuDevicePrimaryCtxRelease"
           ? " (a statically linked CUDA runtime calls it when its library is unloaded)"
           : "";
}

} // namespace gmt
