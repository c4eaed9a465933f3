// SPDX-License-Identifier: Apache-2.0
// Finds the real function behind a row. Driver rows have one answer per process; runtime rows have one per calling
// object, because two runtimes may be loaded side by side. Used by entry.h and route.cpp.
#pragma once

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

// The loader's own dlsym (or the next preload's): the only one this folder calls.
void* real_dlsym(void* handle, const char* name) noexcept;
// The next definition after this library in load order.
void* next_function(const char* name) noexcept;

// Null if this driver does not export the row.
void* driver_function(std::uint16_t row) noexcept;
// The runtime function that the code at `caller` would have reached without us.
void* runtime_function(std::uint16_t row, const void* caller) noexcept;
// A driver function that is no row (pure queries), null if there is none.
void* driver_symbol(const char* name) noexcept;

// The driver's code called us: its own exports reached through the loader.
extern std::atomic<std::uint64_t> driver_start, driver_bytes;
inline bool caller_is_driver(const void* caller) noexcept {
  return reinterpret_cast<std::uint64_t>(caller) - driver_start.load(std::memory_order_relaxed) <
         driver_bytes.load(std::memory_order_relaxed);
}

// Told by route.cpp when a dlsym answer shows the driver's library first.
void driver_was_seen(void* handle, void* function) noexcept;
// Row whose real function this is, -1 if none.
int driver_row_of(void* function) noexcept;

// Remembers a runtime function that dlsym handed out, if it is the first for its row; false if another is known.
bool adopt_runtime_function(std::uint16_t row, void* function) noexcept;

} // namespace gmt::interposer
