// SPDX-License-Identifier: Apache-2.0
// Which bytes of shared memory are written: a byte for each 4 bytes of addresses, in a variable of
// shared memory that a checked kernel clears when it begins.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

struct SharedState {
  std::uint32_t covered = 0;  // addresses from 0 on, a multiple of 16; 0: nothing is followed
  std::string_view why_not{}; // empty where the module has no shared memory

  bool is_followed() const { return covered != 0; }
  // Of the variable. Behind the bytes for what is covered are some that say "written": a check that
  // looks at several words may read on there.
  std::uint32_t cleared_bytes() const { return covered / 4; }
  std::uint32_t bytes() const { return cleared_bytes() + 144; }
};

SharedState shared_state_of(const ptx::Module& module);
// Variables, as the text names them.
bool uses_shared(const ptx::Module& module, const ptx::Body& body);

} // namespace gmt::rewriter
