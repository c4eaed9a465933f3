// SPDX-License-Identifier: Apache-2.0
// All groups of handlers that level 2 alone has: those of forms.h, and newer ones. All handlers
// include forms.h, and few this header, so that a new group compiles no other one again.
#pragma once

#include "simulated_cuda/executor/machine/handlers/forms.h"

#define GMT_ALL_OTHER_FORM_GROUPS(X)                                                               \
  GMT_OTHER_FORM_GROUPS(X)                                                                         \
  X(textures)

namespace gmt::executor {

void add_textures_v2(FormTable& table);

} // namespace gmt::executor
