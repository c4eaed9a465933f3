// SPDX-License-Identifier: Apache-2.0
// NVTX calls an injection once for each object that has NVTX compiled in: so it is asked for each
// time.
#include "interposer/hooks/nvtx/chain.h"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>

#include "interposer/base/options.h"
#include "interposer/base/own_stack.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constinit std::atomic<void*> next_library{nullptr};
constinit std::atomic<bool> failed{false};

// Without a lock, because the library's constructors are foreign code: two threads that open it get
// the same handle.
[[gnu::noinline]] void* open_library_here() noexcept {
  char path[4096];
  if (failed.load() || !initial_environment("GPUMEMTRACE_NVTX_NEXT", path, sizeof path))
    return nullptr;
  void* opened = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (opened == nullptr) {
    if (failed.exchange(true)) return nullptr;
    char reason[4200];
    const char* error = dlerror();
    std::snprintf(reason, sizeof reason, "%s", error != nullptr ? error : path);
    Process::notify_command("nonvtx", reason);
    return nullptr;
  }
  next_library.store(opened, std::memory_order_release);
  return opened;
}

void* open_library() noexcept {
  void* handle = next_library.load(std::memory_order_acquire);
  if (handle == nullptr) with_room([&](bool) noexcept { handle = open_library_here(); });
  return handle;
}

} // namespace

void* next_injection(const char* name) noexcept {
  void* handle = open_library();
  return handle != nullptr ? not_ours(real_dlsym(handle, name)) : nullptr;
}

} // namespace gmt::interposer
