// SPDX-License-Identifier: Apache-2.0
// Our NVTX handlers as a table for nvtx.cpp to install, and what they share with those of the
// extensions. Private to nvtx*.cpp, which alone include the NVTX headers.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "interposer/log/nvtx_names.h"

namespace gmt::interposer {

// What another library installed for the same call: heard after us. Null if there is none.
using NextHandler = std::atomic<void*>;

template <class Function> Function next_handler(const NextHandler& next) noexcept {
  return reinterpret_cast<Function>(next.load(std::memory_order_acquire));
}

struct Handler {
  NvtxCallbackModule module;
  unsigned id;
  NvtxFunctionPointer ours;
};

inline constexpr unsigned kHandlers = 33;
extern const Handler handlers[kHandlers];
inline constexpr unsigned kMaxCallbackIds = 16;
extern NextHandler next_handlers[NVTX_CB_MODULE_SIZE][kMaxCallbackIds];

// The string of an attributes structure.
const Name* keep_message(std::uint32_t type, const nvtxMessageValue_t& value) noexcept;

// Handles as the trace's words.
template <class Handle> std::uint64_t handle_word(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uint64_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

} // namespace gmt::interposer
