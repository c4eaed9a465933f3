// SPDX-License-Identifier: Apache-2.0
// The hooks on the C library's free() and realloc(): memory of CUDA's that the program hands to
// them is recorded before the real call, which may end the process there; registered memory, which
// they may take, when it has gone. Ordinary pointers cost a test and a jump
// (tests/bench/free_cost).
#include <cerrno>
#include <cstdlib>

#include "interposer/calls/call.h"
#include "interposer/driver_state/host_blocks.h"
#include "interposer/loader/real_dlsym.h"

namespace gmt::interposer {

namespace {

// One record a block: after it the C library may give the address to anybody.
void record_release(std::uint64_t address, std::uint16_t api, const void* caller,
                    const void* frame) noexcept {
  const int error = errno;
  Record record;
  record.kind = trace::Kind::kFree;
  record.droppable = false;
  record.use(trace::kFirstPayloadWords);
  trace::FreeFields(record).address(address).function(trace::FreeFunction::kHostFree);
  record_call(record, api, caller, frame);
  errno = error;
}

[[gnu::noinline, gnu::cold]] void look_at(void* pointer, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (remove_host_block(address) != 0)
    record_release(address, trace::kOther_free, caller, __builtin_frame_address(0));
}

// ---- the next definition

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

using Realloc = void*(void*, std::size_t);
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

// Memory of CUDA's ends the program in there, so it is recorded before. Registered memory may stay
// where it is.
[[gnu::noinline, gnu::cold]] void* look_and_realloc(void* pointer, std::size_t bytes,
                                                    const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto real = next_realloc.load(std::memory_order_relaxed);
  const std::uint64_t known = remove_host_block(address);
  const bool is_own = (known & kRegistered) != 0;
  if (known != 0 && !is_own)
    record_release(address, trace::kOther_realloc, caller, __builtin_frame_address(0));
  void* const result = real(pointer, bytes);
  if (!is_own) return result;
  if (result == pointer || (result == nullptr && bytes != 0)) {
    add_host_block(known);
  } else {
    record_release(address, trace::kOther_realloc, caller, __builtin_frame_address(0));
  }
  return result;
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
