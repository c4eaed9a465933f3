// SPDX-License-Identifier: Apache-2.0
// See host_free.h. The set of addresses is a table of buckets, one cache line each, with several counters a bucket that
// say whether it is worth a look: most pointers end at their counter. What finds no place is not followed.
#include "interposer/host_free.h"

#include <cerrno>
#include <cstdlib>

#include "interposer/resolve.h"
#include "interposer/session.h"

namespace gmt::interposer {

namespace {

constexpr unsigned kBucketBits = 11, kCounterBits = 14; // the high bits of one hash: a counter belongs to one bucket
constexpr unsigned kWays = 8;

struct alignas(64) Bucket {
  std::atomic<std::uint64_t> address[kWays]; // 0: free
};
constinit Bucket buckets[1 << kBucketBits] = {};
constinit std::atomic<std::uint8_t> counters[1 << kCounterBits] = {}; // at most kWays each
constinit std::atomic<std::uint32_t> followed{0}; // in all

std::uint64_t hash(std::uint64_t address) noexcept { return address * 0x9e3779b97f4a7c15u; }
Bucket& bucket_of(std::uint64_t address) noexcept { return buckets[hash(address) >> (64 - kBucketBits)]; }
std::atomic<std::uint8_t>& counter_of(std::uint64_t address) noexcept {
  return counters[hash(address) >> (64 - kCounterBits)];
}

void add(std::uint64_t address) noexcept {
  if (address == 0) return;
  for (auto& place : bucket_of(address).address) {
    std::uint64_t there = 0;
    if (place.compare_exchange_strong(there, address)) {
      counter_of(address).fetch_add(1);
      followed.fetch_add(1);
      return;
    }
    if (there == address) return;
  }
}

bool remove(std::uint64_t address) noexcept {
  if (address == 0) return false;
  for (auto& place : bucket_of(address).address) {
    std::uint64_t there = address;
    if (place.load(std::memory_order_relaxed) == address && place.compare_exchange_strong(there, 0)) {
      counter_of(address).fetch_sub(1);
      followed.fetch_sub(1);
      return true;
    }
  }
  return false;
}

// One record a block: after it the C library may give the address to anybody.
[[gnu::noinline, gnu::cold]] void look_at(void* pointer, const void* caller) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (!remove(address)) return;
  const int error = errno;
  Record record;
  record.kind = trace::Kind::kFree;
  record.droppable = false;
  record.use(trace::kFirstPayloadWords);
  record.set(0, address);
  record.set(1, static_cast<std::uint64_t>(trace::FreeFunction::kHostFree));
  record_call(record, trace::kOther_free, caller, __builtin_frame_address(0));
  errno = error;
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

} // namespace

void follow_host_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree) {
    if (followed.load(std::memory_order_relaxed) != 0) remove(record.w[0]);
    return;
  }
  const auto family = static_cast<trace::Family>(record.w[2]);
  if (family == trace::Family::kPinned || family == trace::Family::kManaged || family == trace::Family::kRegistered) {
    add(record.w[0]);
  }
}

void forget_host_memory() noexcept {
  for (Bucket& bucket : buckets) {
    for (auto& place : bucket.address) {
      if (const std::uint64_t address = place.load(std::memory_order_relaxed)) remove(address);
    }
  }
}

} // namespace gmt::interposer

namespace gi = gmt::interposer;

extern "C" __attribute__((visibility("default"))) void free(void* pointer) noexcept {
  if (gi::followed.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    const auto& counter = gi::counter_of(reinterpret_cast<std::uint64_t>(pointer));
    if (counter.load(std::memory_order_relaxed) != 0) gi::look_at(pointer, __builtin_return_address(0));
  }
  gi::next_free.load(std::memory_order_relaxed)(pointer);
}
