// SPDX-License-Identifier: Apache-2.0
// The dlsym behind our own: everything else in this folder is found through it.
#include "interposer/loader/real_dlsym.h"

#include <dlfcn.h>

#include "interposer/base/signal_guard.h"
#include "interposer/loader/rows.h"

namespace gmt::interposer {

namespace {

using Dlsym = void* (*)(void*, const char*);

constinit std::atomic<void*> loaders{nullptr}; // the loader's dlsym
// What comes after us in load order: usually the same
constinit std::atomic<void*> chained{nullptr};

void* loader_dlsym() noexcept {
  void* f = loaders.load(std::memory_order_acquire);
  if (f == nullptr) {
    // glibc 2.34 moved dlsym into libc under a new version; before that it has the architecture's
    // base version.
    f = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (f == nullptr) f = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    loaders.store(f, std::memory_order_release);
  }
  return f;
}

void* next_dlsym() noexcept {
  void* f = chained.load(std::memory_order_acquire);
  if (f == nullptr) {
    f = next_function("dlsym");
    if (f == nullptr) f = loader_dlsym();
    chained.store(f, std::memory_order_release);
  }
  return f;
}

} // namespace

void* real_dlsym(void* handle, const char* name) noexcept {
  const auto f = reinterpret_cast<Dlsym>(loader_dlsym());
  return f != nullptr ? f(handle, name) : nullptr;
}

void* chained_dlsym(void* handle, const char* name) noexcept {
  const auto f = reinterpret_cast<Dlsym>(next_dlsym());
  return f != nullptr ? f(handle, name) : nullptr;
}

bool dlsym_is_chained() noexcept {
  void* f = next_dlsym();
  if (f == loader_dlsym()) return false;
  ObjectFile ours, theirs; // glibc's dlsym has two versions, so two addresses
  return object_of(loader_dlsym(), ours) && object_of(f, theirs) && ours.start != theirs.start;
}

void* next_function(const char* name) noexcept { return not_ours(real_dlsym(RTLD_NEXT, name)); }

void close_handle(void* handle) noexcept {
  if (auto* f = reinterpret_cast<int (*)(void*)>(next_function("dlclose"))) f(handle);
}

namespace {

// Nothing but ours has the name: say so as dlsym does, dlerror() included.
void* say_undefined(void*, const char* name) noexcept {
  return dlvsym(RTLD_DEFAULT, name, "GPUMEMTRACE_NONE");
}

} // namespace

void* undefined_symbol(const char* name) noexcept { return say_undefined(nullptr, name); }

// The exported dlsym with RTLD_NEXT or RTLD_DEFAULT: answers where the stub jumps on to. It has to
// be a jump, because dlsym looks at its caller's address. A program that asks whether CUDA is in
// the process must not find us instead.
extern "C" __attribute__((visibility("hidden"))) void*
gmt_pseudo_dlsym(void* handle, const char* name, const void* caller) noexcept {
  if (handle == RTLD_DEFAULT && name != nullptr && (name[0] == 'c' || name[0] == '_') &&
      row_named(name) >= 0) {
    const SignalGuard signals;
    if (next_function(name) == nullptr && function_in_scope_of(caller, name) == nullptr) {
      return reinterpret_cast<void*>(&say_undefined);
    }
  }
  return next_dlsym();
}

} // namespace gmt::interposer
