// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/retired_memory.h"

#include <cerrno>

#include "interposer/base/readable.h"

namespace gmt::interposer {

constinit std::atomic<std::uint16_t> live_blocks_of_piece[kPieces] = {};
constinit std::atomic<bool> any_retired_memory{false};

namespace {

// Sizes of live blocks, by a hash of the address: a bucket is a cache line.
constexpr unsigned kRetiredBucketBits = 15;
constexpr unsigned kRetiredWays = 4;
constexpr std::uint64_t kTaken = 1; // an address in the making
struct alignas(64) RetiredBucket {
  struct {
    std::atomic<std::uint64_t> address, bytes;
  } block[kRetiredWays];
};
constinit RetiredBucket retired_buckets[1 << kRetiredBucketBits] = {};
constinit std::atomic<bool> any_followed{false};

// Pages of the host that were asked about: number of the page << 16 | what is known of it.
constexpr unsigned kAsked = 256;
constexpr std::uint64_t kReadable = 0xffff; // else how often it was asked about in vain
constexpr unsigned kStateBits = 16;
constexpr std::uint64_t kOften = 8, kSeldom = 64;
constinit std::atomic<std::uint64_t> retired_asked[kAsked] = {};
constinit std::atomic<bool> any_asked{false}, is_refused{false};

RetiredBucket& retired_bucket_of(std::uint64_t address) noexcept {
  return retired_buckets[address * 0x9e3779b97f4a7c15u >> (64 - kRetiredBucketBits)];
}

// What was found out holds until blocks begin or end here.
void forget_answers() noexcept {
  if (!any_asked.exchange(false)) return;
  for (auto& page : retired_asked) page.store(0, std::memory_order_relaxed);
}

template <class Visit>
void for_each_piece(std::uint64_t address, std::uint64_t bytes, Visit visit) noexcept {
  const std::uint64_t last = (address + bytes - 1) >> kPieceBits;
  for (std::uint64_t piece = address >> kPieceBits; piece <= last; ++piece)
    visit(live_blocks_of_piece[piece & (kPieces - 1)]);
}

void begin_block(std::uint64_t address, std::uint64_t bytes) noexcept {
  if (address == 0 || bytes == 0 || bytes > kPieces << kPieceBits || address + bytes < address)
    return;
  RetiredBucket& bucket = retired_bucket_of(address);
  for (auto& block : bucket.block) {
    if (block.address.load(std::memory_order_relaxed) == address) return; // one more reference
  }
  for (auto& block : bucket.block) {
    std::uint64_t nothing = 0;
    if (!block.address.compare_exchange_strong(nothing, kTaken)) continue;
    block.bytes.store(bytes, std::memory_order_relaxed);
    block.address.store(address, std::memory_order_release);
    any_followed.store(true, std::memory_order_relaxed);
    bool was_retired = false;
    for_each_piece(address, bytes, [&](std::atomic<std::uint16_t>& piece) noexcept {
      was_retired |= piece.fetch_add(1, std::memory_order_relaxed) == kPieceWasUsed;
    });
    if (was_retired) forget_answers();
    return;
  }
}

// What becomes of a block's addresses: the driver gives them back, or keeps the mapping for other
// memory in it, of which this library may know nothing.
enum class Mapping : bool { kEnds, kStays };

// The block's size, 0 if it is not followed.
std::uint64_t end_block(std::uint64_t address, Mapping mapping) noexcept {
  for (auto& block : retired_bucket_of(address).block) {
    std::uint64_t there = block.address.load(std::memory_order_acquire);
    if (there != address) continue;
    const std::uint64_t bytes = block.bytes.load(std::memory_order_relaxed);
    if (!block.address.compare_exchange_strong(there, 0)) return 0;
    for_each_piece(address, bytes, [mapping](std::atomic<std::uint16_t>& piece) noexcept {
      const std::uint16_t before =
        mapping == Mapping::kEnds
          ? piece.fetch_or(kPieceWasUsed, std::memory_order_relaxed)
          : piece.fetch_and(static_cast<std::uint16_t>(~kPieceWasUsed), std::memory_order_relaxed);
      if ((before & ~kPieceWasUsed) != 0) piece.fetch_sub(1, std::memory_order_relaxed);
    });
    any_retired_memory.store(true, std::memory_order_relaxed);
    forget_answers();
    return bytes;
  }
  return 0;
}

void remember(std::uint64_t page, std::uint64_t state) noexcept {
  any_asked.store(true, std::memory_order_relaxed);
  retired_asked[page % kAsked].store(page << kStateBits | state, std::memory_order_release);
}

bool host_reads_now(std::uint64_t address) noexcept {
  char byte = 0;
  const long read = read_memory(&byte, address, 1);
  if (read < 0 && errno != EFAULT) is_refused.store(true, std::memory_order_relaxed); // seccomp
  return read == 1;
}

} // namespace

void follow_retired_memory(const Record& record) noexcept {
  if (record.kind == trace::Kind::kAlloc) {
    const trace::AllocView alloc(record);
    return begin_block(alloc.address(), alloc.bytes());
  }
  const trace::FreeView release(record);
  if (release.address() == 0) return;
  // Small pinned blocks share a mapping of 2 MiB with what the driver needs itself (H100, 580).
  const bool stays =
    release.function() == trace::FreeFunction::kMemFreeHost && host_reads_now(release.address());
  std::uint64_t done = end_block(release.address(), stays ? Mapping::kStays : Mapping::kEnds);
  if (release.function() != trace::FreeFunction::kMemUnmap) return;
  while (done != 0 && done < release.bytes()) { // mappings side by side end together
    const std::uint64_t more = end_block(release.address() + done, Mapping::kEnds);
    if (more == 0) return;
    done += more;
  }
}

void retire_all_memory() noexcept {
  if (!any_followed.load(std::memory_order_relaxed)) return;
  for (RetiredBucket& bucket : retired_buckets) {
    for (auto& block : bucket.block) {
      if (block.address.load(std::memory_order_relaxed) != 0) block.address.store(0);
    }
  }
  for (auto& piece : live_blocks_of_piece) {
    if (piece.load(std::memory_order_relaxed) != 0) piece.store(kPieceWasUsed);
  }
  any_retired_memory.store(true, std::memory_order_relaxed);
  forget_answers();
}

void forget_retired_memory() noexcept {
  if (!any_followed.load(std::memory_order_relaxed)) return;
  retire_all_memory();
  for (auto& piece : live_blocks_of_piece) {
    if (piece.load(std::memory_order_relaxed) != 0) piece.store(0);
  }
  any_followed.store(false);
  any_retired_memory.store(false);
  is_refused.store(false);
}

bool is_newly_hosts(std::uint64_t address) noexcept {
  if (is_refused.load(std::memory_order_relaxed)) return false;
  const std::uint64_t page = address / kHostPage;
  std::atomic<std::uint64_t>& entry = retired_asked[page % kAsked];
  const std::uint64_t known = entry.load(std::memory_order_acquire);
  std::uint64_t times = 0;
  if (known >> kStateBits == page) {
    times = known & kReadable;
    if (times == kReadable) return false;
    if (times >= kOften && times % kSeldom != 0) {
      entry.store(known + (times + 1 < kReadable ? 1 : 1 - kSeldom), std::memory_order_relaxed);
      return false;
    }
  }
  if (host_reads_now(address)) return true;
  remember(page, times + 1);
  return false;
}

void remember_hosts(std::uint64_t address) noexcept { remember(address / kHostPage, kReadable); }

} // namespace gmt::interposer
