// SPDX-License-Identifier: Apache-2.0
// See resolve.h. Order of search for a driver row: what comes next in load order (a program linked to the driver, or
// another preload that must stay in the chain), a loaded libcuda.so, libcuda.so.1 by name. For a runtime row: the
// scope of the object that called, what comes next in load order, what dlsym once handed out, any loaded libcudart.
// Our own address is refused at each step: answering it would recurse until the stack ends.
#include "interposer/resolve.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>

#include "interposer/modules.h"
#include "interposer/quiet.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit std::atomic<std::uint64_t> driver_start{0}, driver_bytes{0};

namespace {

using Dlsym = void* (*)(void*, const char*);

constinit std::atomic<void*> driver_functions[trace::kDriverApiCount] = {};
constinit std::atomic<bool> driver_searched{false};
constinit std::atomic<void*> driver_handle{nullptr};

constinit std::atomic<void*> adopted[trace::kApiCount - trace::kDriverApiCount] = {};

// Runtime functions by (caller, row): direct-mapped, written whole by one word that is checked last.
struct CallSite {
  std::atomic<const void*> caller;
  std::atomic<void*> function;
  std::atomic<std::uint64_t> check; // caller ^ function ^ row, so that a torn entry never matches
};
constexpr unsigned kCallSites = 2048;
constinit CallSite call_sites[kCallSites] = {};

void* not_ours(void* function) noexcept { return function != nullptr && !is_own_code(function) ? function : nullptr; }

// Past our own dlclose, which takes every call for an unloading.
void close_handle(void* handle) noexcept {
  if (auto* f = reinterpret_cast<int (*)(void*)>(next_function("dlclose"))) f(handle);
}

struct Found {
  const char* name;
  void* function;
};

bool look_in(void* context, const char* path, const void*) noexcept {
  auto& found = *static_cast<Found*>(context);
  void* handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return true;
  found.function = not_ours(real_dlsym(handle, found.name));
  close_handle(handle); // the object stays: whoever loaded it holds it
  return found.function == nullptr;
}

void* loaded_function(const char* library, const char* name) noexcept {
  Found found{name, nullptr};
  for_each_object_named(library, look_in, &found);
  return found.function;
}

void* find_driver_function(const char* name) noexcept {
  if (void* f = not_ours(next_function(name))) return f;
  if (void* f = loaded_function("libcuda.so", name)) return f;
  void* handle = driver_handle.load();
  return handle != nullptr ? not_ours(real_dlsym(handle, name)) : nullptr;
}

void remember_driver_range(void* function) noexcept {
  ObjectFile driver;
  if (function == nullptr || !object_of(function, driver)) return;
  const char* slash = std::strrchr(driver.path, '/');
  if (std::strncmp(slash != nullptr ? slash + 1 : driver.path, "libcuda.so", 10) != 0) return;
  driver_start.store(driver.start);
  driver_bytes.store(driver.end - driver.start);
}

constexpr const char* name_of(std::uint16_t row) { return trace::kApiNames[row]; }

} // namespace

// Also where the exported stub jumps for RTLD_NEXT and RTLD_DEFAULT.
extern "C" __attribute__((visibility("hidden"))) void* gmt_loader_dlsym() noexcept {
  static constinit std::atomic<void*> real{nullptr};
  void* f = real.load(std::memory_order_acquire);
  if (f == nullptr) {
    // glibc 2.34 moved dlsym into libc under a new version; before that it has the architecture's base version.
    f = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (f == nullptr) f = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    real.store(f, std::memory_order_release);
  }
  return f;
}

void* real_dlsym(void* handle, const char* name) noexcept {
  const auto f = reinterpret_cast<Dlsym>(gmt_loader_dlsym());
  return f != nullptr ? f(handle, name) : nullptr;
}

void* next_function(const char* name) noexcept { return real_dlsym(RTLD_NEXT, name); }

void* driver_function(std::uint16_t row) noexcept {
  if (void* f = driver_functions[row].load(std::memory_order_acquire)) [[likely]] return f;
  const Quiet quiet;
  if (!driver_searched.exchange(true)) {
    void* f = find_driver_function("cuInit");
    if (f == nullptr) {
      driver_handle = dlopen("libcuda.so.1", RTLD_NOW); // a program linked to a stub: what its loader would have done
    }
    remember_driver_range(f);
  }
  void* f = find_driver_function(name_of(row));
  if (f != nullptr) driver_functions[row].store(f, std::memory_order_release);
  return f;
}

void* driver_symbol(const char* name) noexcept { return find_driver_function(name); }

void driver_was_seen(void* handle, void* function) noexcept {
  static constinit std::atomic<bool> seen{false};
  if (seen.load(std::memory_order_acquire)) return;
  const Quiet quiet;
  void* none = nullptr;
  driver_handle.compare_exchange_strong(none, handle);
  for (std::uint16_t row = 0; row < trace::kDriverApiCount; ++row) {
    void* unknown = nullptr;
    void* f = not_ours(real_dlsym(handle, name_of(row)));
    if (f != nullptr) driver_functions[row].compare_exchange_strong(unknown, f, std::memory_order_acq_rel);
  }
  remember_driver_range(function);
  seen.store(true, std::memory_order_release);
}

int driver_row_of(void* function) noexcept {
  // A few hundred look-ups a process, once each: a linear search costs less than a table to keep.
  for (std::uint16_t row = 0; row < trace::kDriverApiCount; ++row) {
    if (driver_functions[row].load(std::memory_order_acquire) == function) return row;
  }
  return -1;
}

bool adopt_runtime_function(std::uint16_t row, void* function) noexcept {
  void* known = nullptr;
  std::atomic<void*>& slot = adopted[row - trace::kDriverApiCount];
  return slot.compare_exchange_strong(known, function) || known == function;
}

namespace {

void* find_runtime_function(std::uint16_t row, const void* caller) noexcept {
  const Quiet quiet;
  const char* name = name_of(row);
  ObjectFile object;
  if (object_of(caller, object)) {
    if (void* handle = dlopen(object.path, RTLD_LAZY | RTLD_NOLOAD)) {
      void* f = not_ours(real_dlsym(handle, name));
      close_handle(handle);
      if (f != nullptr) return f;
    }
  }
  if (void* f = not_ours(next_function(name))) return f;
  if (void* f = adopted[row - trace::kDriverApiCount].load()) return f;
  return loaded_function("libcudart.so", name);
}

} // namespace

void* runtime_function(std::uint16_t row, const void* caller) noexcept {
  const auto key = reinterpret_cast<std::uint64_t>(caller) + module_epoch() * 0x9e3779b97f4a7c15u;
  CallSite& site = call_sites[(key ^ key >> 15 ^ row * 0x9e37u) % kCallSites];
  void* known = site.function.load(std::memory_order_relaxed);
  const auto check = [&](void* f) { return (key ^ reinterpret_cast<std::uint64_t>(f)) + row + 1; };
  if (known != nullptr && site.caller.load(std::memory_order_relaxed) == caller &&
      site.check.load(std::memory_order_acquire) == check(known)) [[likely]] {
    return known;
  }
  void* f = find_runtime_function(row, caller);
  if (f != nullptr) {
    site.caller.store(caller, std::memory_order_relaxed);
    site.function.store(f, std::memory_order_relaxed);
    site.check.store(check(f), std::memory_order_release);
  }
  return f;
}

} // namespace gmt::interposer
