// SPDX-License-Identifier: Apache-2.0
// The driver's half of real_dlsym.h. The table of real functions is filled at one go, when the
// driver's library is first seen: a pointer answered by cuGetProcAddress can be translated only if
// it is known, and later look-ups would wait for the loader's lock while another thread's
// constructors run. The library is kept loaded from then on.
#include "interposer/loader/real_dlsym.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

#include "interposer/base/fork_guard.h"
#include "interposer/base/own_stack.h"
#include "interposer/base/signal_guard.h"
#include "interposer/loader/driver_function.h"
#include "interposer/loader/rows.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit std::atomic<std::uint64_t> driver_start{0}, driver_bytes{0};
constinit std::atomic<bool> any_wrapper{false};
// A wrapper or, usually, the same as own
constinit std::atomic<void*> driver_forwards[trace::kDriverApiCount] = {};
constinit thread_local std::uint32_t gmt_called_by_name = 0;

namespace {

constinit std::atomic<void*> own_functions[trace::kDriverApiCount] = {};
constinit std::atomic<void*> driver_handle{nullptr};
constinit std::atomic<bool> driver_is_known{false};

bool is_driver_path(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  return std::strncmp(slash != nullptr ? slash + 1 : path, "libcuda.so", 10) == 0;
}

bool copy_driver_path(void* context, const char* path, const void*) noexcept {
  auto* found = static_cast<char*>(context);
  if (std::strlen(path) >= sizeof ObjectFile{}.path) return true;
  std::strcpy(found, path);
  return false;
}

// Without the loader's lock: it is taken after the walk, or a thread inside dlopen and we would
// wait for each other.
bool loaded_driver(ObjectFile& driver) noexcept {
  driver.path[0] = '\0';
  for_each_object_named("libcuda.so", copy_driver_path, driver.path);
  return driver.path[0] != '\0';
}

// Whether a function found after us in load order is another preload's and not the driver's.
bool is_wrapper(void* function) noexcept {
  ObjectFile object;
  return function != nullptr && object_of(function, object) && !is_driver_path(object.path);
}

void* symbol_of_driver(const char* name) noexcept {
  const InsideLocks guard; // the loader's: dlsym takes it
  void* found = nullptr;   // the loader wants more stack than a small thread has left
  with_room([&](bool) noexcept { found = not_ours(real_dlsym(driver_handle.load(), name)); });
  return found;
}

// May run in several threads at once: all store the same.
bool fill_table(const char* path) noexcept {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle == nullptr) return false;
  for (std::uint16_t row = 0; row < trace::kDriverApiCount; ++row) {
    void* own = not_ours(real_dlsym(handle, trace::kApiNames[row]));
    void* next = next_function(trace::kApiNames[row]);
    own_functions[row].store(own, std::memory_order_release);
    void* none = nullptr;
    if (next != nullptr && next != own && is_wrapper(next)) {
      driver_forwards[row].compare_exchange_strong(none, next);
      any_wrapper.store(true);
    }
    none = nullptr;
    driver_forwards[row].compare_exchange_strong(none, own, std::memory_order_acq_rel);
  }
  void* inside = real_dlsym(handle, "cuInit");
  ObjectFile driver;
  if (inside != nullptr && object_of(inside, driver) && is_driver_path(driver.path)) {
    driver_bytes.store(driver.end - driver.start);
    driver_start.store(driver.start);
  }
  driver_handle.store(handle);
  set_driver_look_up(symbol_of_driver);
  driver_is_known.store(true, std::memory_order_release);
  return true;
}

[[gnu::noinline]] bool learn_driver_here() noexcept {
  const SignalGuard signals;
  ObjectFile driver;
  if (!loaded_driver(driver)) {
    // A program linked to nothing, or to a stub: what its loader would have done.
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr || !loaded_driver(driver)) return false;
  }
  return fill_table(driver.path);
}

bool learn_driver() noexcept {
  bool learned = false;
  with_room([&](bool) noexcept { learned = learn_driver_here(); });
  return learned;
}

} // namespace

void* find_driver_function(std::uint16_t row) noexcept {
  if (!driver_is_known.load(std::memory_order_acquire) && !learn_driver())
    return next_function(trace::kApiNames[row]);
  return driver_forwards[row].load(std::memory_order_acquire);
}

void* driver_own_function(std::uint16_t row) noexcept {
  void* f = own_functions[row].load(std::memory_order_acquire);
  return f != nullptr ? f : driver_function(row);
}

bool row_has_wrapper(std::uint16_t row) noexcept {
  return driver_forwards[row].load(std::memory_order_relaxed) !=
         own_functions[row].load(std::memory_order_relaxed);
}

void* driver_entry_for(std::uint16_t row, void* function) noexcept {
  const bool own = function == own_functions[row].load(std::memory_order_relaxed);
  return own && has_wrapper(row) ? named_stub(row) : entry_of(row);
}

void replace_driver_function(std::uint16_t row, void* function) noexcept {
  void* own = own_functions[row].load();
  if (own != nullptr) driver_forwards[row].compare_exchange_strong(own, function);
}

void precede_driver_function(std::uint16_t row, void* function,
                             std::atomic<void*>& behind) noexcept {
  void* next = driver_forwards[row].load();
  if (own_functions[row].load() == nullptr || next == function || any_wrapper.load()) return;
  behind.store(next);
  driver_forwards[row].store(function);
}

bool adopt_wrapper(std::uint16_t row, void* function) noexcept {
  void* known = own_functions[row].load();
  if (!driver_forwards[row].compare_exchange_strong(known, function) && known != function)
    return false;
  any_wrapper.store(true);
  return true;
}

void driver_was_seen(const ObjectFile& driver) noexcept {
  if (driver_is_known.load(std::memory_order_acquire)) return;
  const SignalGuard signals;
  fill_table(driver.path);
}

int driver_row_of(void* function) noexcept {
  // A few hundred look-ups a process, once each: a linear search costs less than a table to keep.
  for (std::uint16_t row = 0; row < trace::kDriverApiCount; ++row) {
    if (own_functions[row].load(std::memory_order_relaxed) == function) return row;
    if (driver_forwards[row].load(std::memory_order_relaxed) == function) return row;
  }
  return -1;
}

} // namespace gmt::interposer
