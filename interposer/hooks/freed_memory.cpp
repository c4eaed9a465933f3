// SPDX-License-Identifier: Apache-2.0
#include "interposer/hooks/freed_memory.h"

#include <cerrno>

#include "interposer/calls/call.h"
#include "interposer/driver_state/host_blocks.h"

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

} // namespace

[[gnu::cold]] void record_freed(void* pointer, const void* caller, const void* frame) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (remove_host_block(address) != 0) record_release(address, trace::kOther_free, caller, frame);
}

// Memory of CUDA's ends the program in there, so it is recorded before. Registered memory may stay
// where it is.
[[gnu::cold]] void* record_and_realloc(void* pointer, std::size_t bytes, Realloc* real,
                                       const void* caller, const void* frame) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const std::uint64_t known = remove_host_block(address);
  const bool is_own = (known & kRegistered) != 0;
  if (known != 0 && !is_own) record_release(address, trace::kOther_realloc, caller, frame);
  void* const result = real(pointer, bytes);
  if (!is_own) return result;
  if (result == pointer || (result == nullptr && bytes != 0)) {
    add_host_block(known);
  } else {
    record_release(address, trace::kOther_realloc, caller, frame);
  }
  return result;
}

} // namespace gmt::interposer
