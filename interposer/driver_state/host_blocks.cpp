// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/host_blocks.h"

namespace gmt::interposer {

constinit std::atomic<std::uint32_t> followed_host_blocks{0};
// At most kWays each
constinit std::atomic<std::uint8_t> host_block_counters[1 << kHostBlockCounterBits] = {};
constinit std::atomic<std::uint64_t> absent_host_bits{~std::uint64_t{0}};

namespace {

constexpr unsigned kBucketBits = 11; // the high bits of one hash
constexpr unsigned kWays = 8;

struct alignas(64) Bucket {
  std::atomic<std::uint64_t> address[kWays]; // 0: free
};
constinit Bucket host_buckets[1 << kBucketBits] = {};

Bucket& bucket_of(std::uint64_t address) noexcept {
  return host_buckets[hash_of_host_block(address) >> (64 - kBucketBits)];
}
std::atomic<std::uint8_t>& counter_of(std::uint64_t address) noexcept {
  return host_block_counters[hash_of_host_block(address) >> (64 - kHostBlockCounterBits)];
}

} // namespace

void add_host_block(std::uint64_t known) noexcept {
  const std::uint64_t address = known & ~kRegistered;
  if (address == 0) return;
  absent_host_bits.fetch_and(~address);
  for (auto& slot : bucket_of(address).address) {
    std::uint64_t there = 0;
    if (slot.compare_exchange_strong(there, known)) {
      counter_of(address).fetch_add(1);
      followed_host_blocks.fetch_add(1);
      return;
    }
    if ((there & ~kRegistered) == address) return;
  }
}

std::uint64_t remove_host_block(std::uint64_t address) noexcept {
  if (address == 0) return 0;
  for (auto& slot : bucket_of(address).address) {
    std::uint64_t there = slot.load(std::memory_order_relaxed);
    if ((there & ~kRegistered) == address && slot.compare_exchange_strong(there, 0)) {
      counter_of(address).fetch_sub(1);
      followed_host_blocks.fetch_sub(1);
      return there;
    }
  }
  return 0;
}

void follow_host_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree) {
    remove_host_block(trace::FreeView(record).address());
    return;
  }
  const trace::MemoryKind memory = trace::AllocView(record).memory_kind();
  const std::uint64_t address = trace::AllocView(record).address();
  if ((address & kRegistered) != 0) return;
  if (memory == trace::MemoryKind::kPinned || memory == trace::MemoryKind::kManaged)
    add_host_block(address);
  if (memory == trace::MemoryKind::kRegistered) add_host_block(address | kRegistered);
}

void forget_host_memory() noexcept {
  for (Bucket& bucket : host_buckets) {
    for (auto& slot : bucket.address) {
      if (const std::uint64_t known = slot.load(std::memory_order_relaxed))
        remove_host_block(known & ~kRegistered);
    }
  }
  // Nothing is added in between: a child begins with one thread
  absent_host_bits.store(~std::uint64_t{0});
}

} // namespace gmt::interposer
