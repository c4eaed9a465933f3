// SPDX-License-Identifier: Apache-2.0
// Finds the real function behind a row. Driver rows have one answer per process; runtime rows have
// one per calling object, because two runtimes may be loaded side by side.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interposer/loader/object_files.h"

namespace gmt::interposer {

// The loader's own dlsym: the only one this folder calls for itself.
void* real_dlsym(void* handle, const char* name) noexcept;
// The dlsym that the program would have reached without us: another preload's, or the loader's.
void* chained_dlsym(void* handle, const char* name) noexcept;
bool dlsym_is_chained() noexcept;
// The next definition after this library in load order, never our own.
void* next_function(const char* name) noexcept;
// What `name` is in the scope of the object file that holds `address`, never our own.
void* function_in_scope_of(const void* address, const char* name) noexcept;
// Null, and dlerror() says that there is no such symbol.
void* undefined_symbol(const char* name) noexcept;
// Dlclose past our own hook, which takes every call for an unloading
void close_handle(void* handle) noexcept;
inline void* not_ours(void* function) noexcept {
  return function != nullptr && !is_own_code(function) ? function : nullptr;
}

// ---- driver (driver_functions.cpp)

// What a call of the exported symbol is forwarded to: another preload's wrapper if there is one,
// else the driver's own function. Null if this driver does not export the row.
// Null while the driver is not known
extern std::atomic<void*> driver_forwards[]; // by row
void* find_driver_function(std::uint16_t row) noexcept;
inline void* driver_function(std::uint16_t row) noexcept {
  void* f = driver_forwards[row].load(std::memory_order_acquire);
  return f != nullptr ? f : find_driver_function(row);
}
void* driver_own_function(std::uint16_t row) noexcept;

// Whether calls of a row go to another preload's wrapper.
extern std::atomic<bool> any_wrapper;
bool row_has_wrapper(std::uint16_t row) noexcept;
inline bool has_wrapper(std::uint16_t row) noexcept {
  return any_wrapper.load(std::memory_order_relaxed) && row_has_wrapper(row);
}
// Left by a stub that was handed out for a pointer asked for by name (named_stubs.S): the call is
// meant for what the loader had answered, whatever load order would say. Read once, by the entry
// that the stub jumps to.
extern "C" constinit thread_local std::uint32_t gmt_called_by_name
  __attribute__((tls_model("initial-exec"), visibility("hidden")));
inline bool take_called_by_name() noexcept {
  const bool by_name = gmt_called_by_name != 0;
  if (by_name) [[unlikely]]
    gmt_called_by_name = 0;
  return by_name;
}
extern "C" const char gmt_named_stubs[] __attribute__((visibility("hidden"))); // 32 bytes a row
inline void* named_stub(std::uint16_t row) noexcept {
  return const_cast<char*>(gmt_named_stubs) + 32 * std::size_t{row};
}

inline void* driver_function_for_call(std::uint16_t row) noexcept {
  if (!any_wrapper.load(std::memory_order_relaxed)) [[likely]]
    return driver_function(row);
  return take_called_by_name() ? driver_own_function(row) : driver_function(row);
}
// What to hand out for the driver's own function or for its wrapper.
void* driver_entry_for(std::uint16_t row, void* function) noexcept;

// From now on calls of the row go to `function`, which calls driver_own_function() itself. Nothing
// happens where the driver lacks the row or another preload wraps it.
void replace_driver_function(std::uint16_t row, void* function) noexcept;
// The same, but `function` goes on to what calls of the row have gone to, which is stored in
// `behind`.
void precede_driver_function(std::uint16_t row, void* function,
                             std::atomic<void*>& behind) noexcept;

// Another preload's dlsym handed out `function` for a row; false if another wrapper is known
// already.
bool adopt_wrapper(std::uint16_t row, void* function) noexcept;

// The driver's code called us: its own exports reached through the loader.
extern std::atomic<std::uint64_t> driver_start, driver_bytes;
inline bool is_drivers_code(std::uint64_t address) noexcept {
  return address - driver_start.load(std::memory_order_relaxed) <
         driver_bytes.load(std::memory_order_relaxed);
}
inline bool caller_is_driver(const void* caller) noexcept {
  return is_drivers_code(reinterpret_cast<std::uint64_t>(caller));
}

// A dlsym answer lies in the driver's library.
void driver_was_seen(const ObjectFile& driver) noexcept;
// Row whose function (the driver's own or a wrapper) this is, -1 if none.
int driver_row_of(void* function) noexcept;

// ---- runtime (runtime_functions.cpp)

// The runtime function that the code at `caller` would have reached without us: the one it was
// handed out by name, or what load order gives it.
void* runtime_function_by_name(std::uint16_t row) noexcept;
void* runtime_function(std::uint16_t row, const void* caller) noexcept;
// What another preload's wrapper of a runtime function means when it calls on to us: the runtime's
// own.
void* runtime_function_behind_wrapper(std::uint16_t row) noexcept;
extern std::atomic<bool> any_runtime_wrapper;
bool is_of_runtime_13(void* function) noexcept;
bool is_runtime_path(const char* path) noexcept;
// Remembers a runtime function that dlsym handed out, if it is the first for its row; false if
// another is known.
bool adopt_runtime_function(std::uint16_t row, void* function) noexcept;

} // namespace gmt::interposer
