// SPDX-License-Identifier: Apache-2.0
// The hooks on the C library's free() and realloc(): what freed_memory.h says happens before the
// real call. Ordinary pointers cost a test and a jump (tests/bench/free_cost).
#include <cerrno>
#include <cstdlib>

#include "interposer/driver_state/host_blocks.h"
#include "interposer/hooks/freed_memory.h"
#include "interposer/loader/real_dlsym.h"

namespace gmt::interposer {
namespace {

using Free = void(void*);
void find_and_free(void* pointer) noexcept;
constinit std::atomic<Free*> next_free{&find_and_free};
constinit thread_local bool finding __attribute__((tls_model("initial-exec"))) = false;

// The loader frees, too, while it looks for the function: an old error message, a few bytes that
// stay.
void find_and_free(void* pointer) noexcept {
  if (finding) return;
  finding = true;
  auto* found = reinterpret_cast<Free*>(next_function("free"));
  finding = false;
  if (found == nullptr) return;
  next_free.store(found, std::memory_order_relaxed);
  found(pointer);
}

void* find_and_realloc(void* pointer, std::size_t bytes) noexcept;
constinit std::atomic<Realloc*> next_realloc{&find_and_realloc};

void* find_and_realloc(void* pointer, std::size_t bytes) noexcept {
  Realloc* found = nullptr;
  if (!finding) {
    finding = true;
    found = reinterpret_cast<Realloc*>(next_function("realloc"));
    finding = false;
  }
  if (found == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  next_realloc.store(found, std::memory_order_relaxed);
  return found(pointer, bytes);
}

// Apart from the hooks, which need no frame of their own then.
[[gnu::noinline, gnu::cold]] void look_at(void* pointer, const void* caller) noexcept {
  record_freed(pointer, caller, __builtin_frame_address(0));
}

[[gnu::noinline, gnu::cold]] void* look_and_realloc(void* pointer, std::size_t bytes,
                                                    const void* caller) noexcept {
  Realloc* const real = next_realloc.load(std::memory_order_relaxed);
  return record_and_realloc(pointer, bytes, real, caller, __builtin_frame_address(0));
}

} // namespace
} // namespace gmt::interposer

namespace gi = gmt::interposer;

extern "C" __attribute__((visibility("default"))) void free(void* pointer) noexcept {
  if (gi::may_be_followed(pointer)) [[unlikely]]
    gi::look_at(pointer, __builtin_return_address(0));
  gi::next_free.load(std::memory_order_relaxed)(pointer);
}

// The C library's reallocarray() comes by here as well.
extern "C" __attribute__((visibility("default"))) void* realloc(void* pointer,
                                                                std::size_t bytes) noexcept {
  if (gi::may_be_followed(pointer)) [[unlikely]]
    return gi::look_and_realloc(pointer, bytes, __builtin_return_address(0));
  return gi::next_realloc.load(std::memory_order_relaxed)(pointer, bytes);
}
