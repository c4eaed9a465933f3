// SPDX-License-Identifier: Apache-2.0
// The host memory of CUDA's that is alive: what the C library's free() and realloc() must not be
// given. Nothing here takes a lock or allocates, because free() is called before the first
// constructor, from the loader, and after the last destructor.
//
// The set of addresses is a table of buckets, one cache line each, with several counters a bucket
// that say whether it is worth a look. Before that stands one word, the bits that no followed
// address ever had: CUDA's memory begins at multiples of 512, so nearly all of malloc()'s pointers
// have one of these and end there. What finds no room is not followed, nor is an odd address, which
// no allocation has: the lowest bit says whether the memory is the program's own, only registered.
#pragma once

#include <atomic>
#include <cstdint>

#include "interposer/log/record.h"

namespace gmt::interposer {

extern std::atomic<std::uint32_t> followed_host_blocks;

// Whether a completed call changes the set.
inline bool concerns_host_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kFree)
    return followed_host_blocks.load(std::memory_order_relaxed) != 0;
  if (record.kind != trace::Kind::kAlloc) return false;
  const trace::MemoryKind memory = trace::AllocView(record).memory_kind();
  return memory == trace::MemoryKind::kPinned || memory == trace::MemoryKind::kManaged ||
         memory == trace::MemoryKind::kRegistered;
}
void follow_host_memory(const Record& record) noexcept; // a call that concerns it
void forget_host_memory() noexcept;                     // a forked child has none of it

// An address of the set with what is known of it.
inline constexpr std::uint64_t kRegistered = 1;

// The high bits of one hash: a counter belongs to one bucket
inline constexpr unsigned kHostBlockCounterBits = 14;
extern std::atomic<std::uint8_t> host_block_counters[1 << kHostBlockCounterBits];
extern std::atomic<std::uint64_t> absent_host_bits; // of every address that is or was in a bucket
inline std::uint64_t hash_of_host_block(std::uint64_t address) noexcept {
  return address * 0x9e3779b97f4a7c15u;
}

inline bool may_be_followed(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if ((address & absent_host_bits.load(std::memory_order_relaxed)) != 0) [[likely]]
    return false;
  return host_block_counters[hash_of_host_block(address) >> (64 - kHostBlockCounterBits)].load(
           std::memory_order_relaxed) != 0;
}
void add_host_block(std::uint64_t known) noexcept; // the address, with kRegistered or without
// What was added; 0 if it is not there
std::uint64_t remove_host_block(std::uint64_t address) noexcept;

} // namespace gmt::interposer
