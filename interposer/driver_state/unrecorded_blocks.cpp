// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/unrecorded_blocks.h"

namespace gmt::interposer {

constinit std::atomic<bool> any_unrecorded_blocks{false};

namespace {

constexpr unsigned kUnrecordedBucketBits = 13;
constexpr unsigned kUnrecordedWays = 8;
struct alignas(64) UnrecordedBucket {
  std::atomic<std::uint64_t> address[kUnrecordedWays]; // 0: free
};
constinit UnrecordedBucket unrecorded_buckets[1 << kUnrecordedBucketBits] = {};

UnrecordedBucket& unrecorded_bucket_of(std::uint64_t address) noexcept {
  return unrecorded_buckets[address * 0x9e3779b97f4a7c15u >> (64 - kUnrecordedBucketBits)];
}

bool take(std::uint64_t address) noexcept {
  if (address == 0) return false;
  for (auto& slot : unrecorded_bucket_of(address).address) {
    std::uint64_t there = address;
    if (slot.compare_exchange_strong(there, 0)) return true;
  }
  return false;
}

} // namespace

void follow_unrecorded_blocks(const Record& allocation, bool is_recorded) noexcept {
  const std::uint64_t address = trace::AllocView(allocation).address();
  if (is_recorded) { // the end of what lay there before was not seen
    take(address);
    return;
  }
  if (address == 0) return;
  for (auto& slot : unrecorded_bucket_of(address).address) {
    std::uint64_t there = 0;
    if (!slot.compare_exchange_strong(there, address) && there != address) continue;
    any_unrecorded_blocks.store(true, std::memory_order_relaxed);
    return;
  }
}

bool take_unrecorded_block(const Record& release) noexcept {
  return take(trace::FreeView(release).address());
}

void forget_unrecorded_blocks() noexcept {
  if (!any_unrecorded_blocks.exchange(false)) return;
  for (UnrecordedBucket& bucket : unrecorded_buckets) {
    for (auto& slot : bucket.address) slot.store(0, std::memory_order_relaxed);
  }
}

} // namespace gmt::interposer
