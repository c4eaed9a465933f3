// SPDX-License-Identifier: Apache-2.0
// What we handle of NVTX's extensions, a table for each: memory.cpp and payload.cpp have the
// handlers, extension.cpp puts them into the slots of each object that asks. Private to these
// three.
#pragma once

#include "interposer/hooks/nvtx/handlers.h"

namespace gmt::interposer {

struct NvtxExtension {
  unsigned module;
  unsigned first_compat; // the versions in which the slots mean what the handlers take them for
  unsigned last_compat;
  unsigned slots;       // how many of the module's slots the arrays cover
  void* const* ours;    // by callback id; null: that slot is left alone
  NextHandler* next_of; // what another library had put there
};

extern const NvtxExtension memory_extension;
extern const NvtxExtension payload_extension;

} // namespace gmt::interposer
