// SPDX-License-Identifier: Apache-2.0
// Allocation of fenced blocks: see fence.h. Memory of its own is mapped so that the block's end
// lies at the mapping's end, as near as its alignment allows, with a gap behind it that is never
// mapped.
#include "interposer/guard/fence.h"

#include <algorithm>

#include "interposer/guard/captures.h"
#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/exclusions.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/sampler.h"
#include "interposer/guard/slack.h"
#include "interposer/guard/store/physical.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

using trace::GuardPlain;

constinit GuardSampler sampler{};
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{1} << 44; // of one block
constexpr std::uint64_t kMostUnits = (std::uint64_t{64} << 40) / kGuardUnit;
constexpr std::uint64_t kFewestUnits = (std::uint64_t{64} << 30) / kGuardUnit;

bool begins_at_mapping() noexcept {
  const std::uint64_t mode = Process::options().guard;
  return mode == 2 || mode == 4; // before, tensors-before
}

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool stays_plain(GuardPlain why) noexcept {
  count_plain(why);
  return false;
}

// What needs no look at the device.
bool is_wanted(std::uint64_t bytes, std::uint64_t* stack) noexcept {
  const Options& options = Process::options();
  if (bytes == 0 || bytes > kMostBlockBytes) return false; // CUDA says what is wrong
  if (any_capture()) return stays_plain(GuardPlain::kInCapture);
  if (bytes < options.guard_min) return stays_plain(GuardPlain::kTooSmall);
  const std::uint64_t mapped = round_up(bytes, kGuardUnit);
  if (options.guard_limit != 0 && guarded_now() + mapped > options.guard_limit)
    return stays_plain(GuardPlain::kOverLimit);
  const StackVerdict verdict = ask_stack();
  if (verdict.plain) return stays_plain(verdict.why);
  *stack = verdict.stack;
  if (options.guard_sample == 0) return true;
  const bool chosen = sampler.choose(monotonic_ns());
  note_share(sampler.share_permille());
  return chosen || stays_plain(GuardPlain::kNotSampled);
}

// Blocks much smaller than a mapping must not use up the memory that the program counts on.
bool takes_too_much(const GuardBlock& block) noexcept {
  std::size_t total = 0;
  const std::uint64_t unused = guarded_unused() + block.mapped - block.bytes;
  return guard_driver.total(&total, block.device) == 0 && unused > total / 2;
}

bool take_addresses(GuardBlock& block) noexcept {
  const std::uint64_t mapped = units_for(block.mapped);
  const std::uint64_t gap = units_for(block.bytes);
  const GuardLock lock;
  if (!lock.held()) return false;
  block.range = guard_blocks.space().take(mapped + gap);
  if (block.range.units == 0) return false;
  const std::uint32_t first =
    block.range.first + (begins_at_mapping() ? static_cast<std::uint32_t>(gap) : 0);
  block.mapping = guard_blocks.address_of(first);
  note_reuse(guard_blocks.space().reused());
  return true;
}

void give_addresses(const GuardBlock& block) noexcept {
  const GuardLock lock;
  if (lock.held()) guard_blocks.space().give_unused(block.range);
}

int take_memory(GuardBlock& block) noexcept {
  const CUmemAllocationProp properties = guard_properties(block.device);
  const int result = take_physical(properties, block.mapped, &block.memory);
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  finish_releases(true); // memory that is freed, only not given back yet
  return take_physical(properties, block.mapped, &block.memory);
}

bool map_memory(GuardBlock& block, std::uint64_t peers) noexcept {
  if (guard_driver.map(block.mapping, block.mapped, 0, block.memory, 0) != 0) return false;
  if (grant_access(block.mapping, block.mapped, block.device, peers)) return true;
  guard_driver.unmap(block.mapping, block.mapped);
  return false;
}

// Addresses, memory and the mapping, or nothing of them.
bool make_mapping(GuardBlock& block, std::uint64_t peers) noexcept {
  if (!take_addresses(block)) return stays_plain(GuardPlain::kNoAddresses);
  const int result = take_memory(block);
  if (result == 0 && map_memory(block, peers)) return true;
  if (result == 0) guard_driver.release(block.memory);
  give_addresses(block);
  return stays_plain(result == CUDA_ERROR_OUT_OF_MEMORY ? GuardPlain::kNoMemory
                                                        : GuardPlain::kNotSupported);
}

bool add_block(GuardBlock& block) noexcept {
  block.state = BlockState::kLive;
  const GuardLock lock;
  return lock.held() && guard_blocks.add(block) != 0;
}

bool make_block(GuardBlock& block, const GuardDevice& device, std::uint64_t peers) noexcept {
  block.mapped = round_up(block.bytes, kGuardUnit);
  if (takes_too_much(block)) return stays_plain(GuardPlain::kNoMemory);
  if (!make_mapping(block, peers)) return false;
  block.address = block.mapping;
  if (!begins_at_mapping())
    block.address += block.mapped - round_up(block.bytes, device.alignment.load());
  block.since = Process::current_order();
  block.has_pattern = write_pattern(block);
  if (add_block(block)) return true;
  if (block.has_pattern) check_patterns(&block, 1, trace::GuardMoment::kFree, 500); // it is written
  guard_driver.unmap(block.mapping, block.mapped);
  guard_driver.release(block.memory);
  give_addresses(block);
  return stays_plain(GuardPlain::kNoAddresses);
}

} // namespace

bool allocate_guarded(std::uint64_t bytes, CUmemoryPool pool, std::uint64_t peers,
                      CUdeviceptr* address) noexcept {
  GuardBlock block;
  block.bytes = bytes;
  block.pool = pool;
  if (address == nullptr || !is_wanted(bytes, &block.stack)) return false;
  const std::uint64_t begin = Process::options().guard_sample != 0 ? monotonic_ns() : 0;
  if (guard_driver.current(&block.context) != 0 || block.context == nullptr) return false;
  if (guard_driver.device(&block.device) != 0) return false;
  GuardDevice* device = guard_device(block.device);
  if (device == nullptr) return stays_plain(GuardPlain::kNotSupported);
  if (!guard_has_addresses()) return stays_plain(GuardPlain::kNoAddresses);
  finish_releases(false);
  const GuardWork work;
  if (pool == nullptr) peers |= device->peers.load();
  if (!make_block(block, *device, peers)) return false;
  *address = block.address;
  count_guarded(block.mapped, block.bytes);
  device->hidden.fetch_add(hidden_bytes(block.bytes, block.mapped));
  if (pool != nullptr) pool_grows(pool, block.bytes);
  if (begin != 0) sampler.spent(monotonic_ns() - begin);
  return true;
}

void spent_on_release(std::uint64_t ns) noexcept { sampler.spent(ns); }

bool find_guarded(CUdeviceptr address, GuardBlock* block) noexcept {
  if (!fenced_addresses.contain(address)) return false;
  const GuardLock lock;
  const std::uint32_t number = lock.held() ? guard_blocks.find_any(address) : 0;
  if (number == 0) return false;
  *block = guard_blocks.at(number);
  return true;
}

bool reserve_guard_addresses() noexcept {
  for (std::uint64_t units = kMostUnits; units >= kFewestUnits; units /= 2) {
    CUdeviceptr base = 0;
    if (guard_driver.reserve(&base, units * kGuardUnit, kGuardUnit, 0, 0) != 0) continue;
    sampler.begin(monotonic_ns());
    return guard_blocks.begin(base, units);
  }
  return false;
}

} // namespace gmt::interposer
