// SPDX-License-Identifier: Apache-2.0
// See libc_free.h. The set of addresses is a table of buckets, one cache line each, with several counters a bucket that
// say whether it is worth a look. Before that stands one word, the bits that no followed address ever had: CUDA's
// memory begins at multiples of 512, so nearly all of malloc()'s pointers have one of these and end there. What finds no
// place is not followed, nor is an odd address, which no allocation has: the lowest bit says whether the memory is the
// program's own, only registered.
#include "interposer/hooks/libc_free.h"

#include <cerrno>
#include <cstdlib>

#include "interposer/loader/real_dlsym.h"
#include "interposer/calls/call.h"

namespace gmt::interposer {

constinit std::atomic<std::uint32_t> followed_host_blocks{0};

namespace {

constexpr unsigned kBucketBits = 11, kCounterBits = 14; // the high bits of one hash: a counter belongs to one bucket
constexpr unsigned kWays = 8;

struct alignas(64) Bucket {
  std::atomic<std::uint64_t> address[kWays]; // 0: free
};
constinit Bucket buckets[1 << kBucketBits] = {};
constinit std::atomic<std::uint8_t> counters[1 << kCounterBits] = {}; // at most kWays each
constinit std::atomic<std::uint64_t> absent_bits{~std::uint64_t{0}}; // of every address that is or was in a bucket

std::uint64_t hash(std::uint64_t address) noexcept { return address * 0x9e3779b97f4a7c15u; }
Bucket& bucket_of(std::uint64_t address) noexcept { return buckets[hash(address) >> (64 - kBucketBits)]; }
std::atomic<std::uint8_t>& counter_of(std::uint64_t address) noexcept {
  return counters[hash(address) >> (64 - kCounterBits)];
}

constexpr std::uint64_t kRegistered = 1;

void add(std::uint64_t known) noexcept {
  const std::uint64_t address = known & ~kRegistered;
  if (address == 0) return;
  absent_bits.fetch_and(~address);
  for (auto& place : bucket_of(address).address) {
    std::uint64_t there = 0;
    if (place.compare_exchange_strong(there, known)) {
      counter_of(address).fetch_add(1);
      followed_host_blocks.fetch_add(1);
      return;
    }
    if ((there & ~kRegistered) == address) return;
  }
}

// What add() was given; 0 if the address is not there.
std::uint64_t remove(std::uint64_t address) noexcept {
  if (address == 0) return 0;
  for (auto& place : bucket_of(address).address) {
    std::uint64_t there = place.load(std::memory_order_relaxed);
    if ((there & ~kRegistered) == address && place.compare_exchange_strong(there, 0)) {
      counter_of(address).fetch_sub(1);
      followed_host_blocks.fetch_sub(1);
      return there;
    }
  }
  return 0;
}

// One record a block: after it the C library may give the address to anybody.
void tell(std::uint64_t address, std::uint16_t api, const void* caller, const void* frame) noexcept {
  const int error = errno;
  Record record;
  record.kind = trace::Kind::kFree;
  record.droppable = false;
  record.use(trace::kFirstPayloadWords);
  record.set(0, address);
  record.set(1, static_cast<std::uint64_t>(trace::FreeFunction::kHostFree));
  record_call(record, api, caller, frame);
  errno = error;
}

[[gnu::noinline, gnu::cold]] void look_at(void* pointer, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (remove(address) != 0) tell(address, trace::kOther_free, caller, __builtin_frame_address(0));
}

// ---- the next definition

using Free = void(void*);
void find_and_free(void* pointer) noexcept;
constinit std::atomic<Free*> next_free{&find_and_free};
constinit thread_local bool finding __attribute__((tls_model("initial-exec"))) = false;

// The loader frees, too, while it looks for the function: an old error message, a few bytes that stay.
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

// Memory of CUDA's ends the program in there, so it is told of before. Registered memory may stay where it is.
[[gnu::noinline, gnu::cold]] void* look_and_realloc(void* pointer, std::size_t bytes, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  const auto real = next_realloc.load(std::memory_order_relaxed);
  const std::uint64_t known = remove(address);
  const bool is_own = (known & kRegistered) != 0;
  if (known != 0 && !is_own) tell(address, trace::kOther_realloc, caller, __builtin_frame_address(0));
  void* const result = real(pointer, bytes);
  if (!is_own) return result;
  if (result == pointer || (result == nullptr && bytes != 0)) {
    add(known);
  } else {
    tell(address, trace::kOther_realloc, caller, __builtin_frame_address(0));
  }
  return result;
}

bool may_be_followed(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if ((address & absent_bits.load(std::memory_order_relaxed)) != 0) [[likely]] return false;
  return counter_of(address).load(std::memory_order_relaxed) != 0;
}

} // namespace

void follow_host_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree) {
    remove(record.w[0]);
    return;
  }
  const auto family = static_cast<trace::Family>(record.w[2]);
  const std::uint64_t address = record.w[0];
  if ((address & kRegistered) != 0) return;
  if (family == trace::Family::kPinned || family == trace::Family::kManaged) add(address);
  if (family == trace::Family::kRegistered) add(address | kRegistered);
}

void forget_host_memory() noexcept {
  for (Bucket& bucket : buckets) {
    for (auto& place : bucket.address) {
      if (const std::uint64_t known = place.load(std::memory_order_relaxed)) remove(known & ~kRegistered);
    }
  }
  absent_bits.store(~std::uint64_t{0}); // nobody adds in between: a child begins with one thread
}

} // namespace gmt::interposer

namespace gi = gmt::interposer;

extern "C" __attribute__((visibility("default"))) void free(void* pointer) noexcept {
  if (gi::may_be_followed(pointer)) [[unlikely]] gi::look_at(pointer, __builtin_return_address(0));
  gi::next_free.load(std::memory_order_relaxed)(pointer);
}

// The C library's reallocarray() comes by here as well.
extern "C" __attribute__((visibility("default"))) void* realloc(void* pointer, std::size_t bytes) noexcept {
  if (gi::may_be_followed(pointer)) [[unlikely]]
    return gi::look_and_realloc(pointer, bytes, __builtin_return_address(0));
  return gi::next_realloc.load(std::memory_order_relaxed)(pointer, bytes);
}
