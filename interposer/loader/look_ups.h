// SPDX-License-Identifier: Apache-2.0
// Whether a CUDA runtime has asked the driver for its functions. Every runtime, linked in or not,
// begins with an empty name or asks for cuGetExportTable (seen with those of CUDA 12 and 13);
// programs that call the driver themselves do neither.
#pragma once

#include <atomic>
#include <cstring>

namespace gmt::interposer {

inline constinit std::atomic<bool> runtime_looked_up{false};

// A look-up by cuGetProcAddress.
inline void note_look_up(const char* name) noexcept {
  if (name == nullptr || runtime_looked_up.load(std::memory_order_relaxed)) return;
  if (*name == '\0' || std::strcmp(name, "cuGetExportTable") == 0)
    runtime_looked_up.store(true, std::memory_order_relaxed);
}

inline bool has_runtime_looked_up() noexcept {
  return runtime_looked_up.load(std::memory_order_relaxed);
}

} // namespace gmt::interposer
