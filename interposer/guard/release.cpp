// SPDX-License-Identifier: Apache-2.0
// Frees of fenced blocks: see fence.h. A block that is freed in a stream's order stands in a list
// until the event behind that work is done; one that is freed while a stream captures has no event,
// and waits for all work of its context once the capture has ended.
#include "interposer/guard/fence.h"

#include <atomic>

#include "interposer/guard/captures.h"
#include "interposer/guard/devices.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/slack.h"
#include "interposer/guard/store/events.h"
#include "interposer/guard/store/physical.h"
#include "interposer/log/process.h"

namespace gmt::interposer {

namespace {

constexpr int kLongestCheck = 500; // milliseconds, with no other work in front of it
constexpr int kShortCheck = 1;     // while the program goes on

constinit std::uint32_t first_waiting = 0, last_waiting = 0; // under the lock
constinit std::atomic<std::uint32_t> waiting_count{0};

// Takes the block out of the program's hands. 0 if none begins there.
std::uint32_t claim(CUdeviceptr address, GuardBlock* block) noexcept {
  if (!fenced_addresses.contain(address)) return 0;
  const GuardLock lock;
  const std::uint32_t number = lock.held() ? guard_blocks.find(address) : 0;
  if (number == 0 || guard_blocks.at(number).address != address) return 0;
  guard_blocks.at(number).state = BlockState::kReleasing;
  *block = guard_blocks.at(number);
  return number;
}

void give_back_claim(std::uint32_t number) noexcept {
  const GuardLock lock;
  if (lock.held()) guard_blocks.at(number).state = BlockState::kLive;
}

void append_waiting(std::uint32_t number) noexcept { // under the lock
  guard_blocks.at(number).next = 0;
  if (last_waiting != 0) guard_blocks.at(last_waiting).next = number;
  else first_waiting = number;
  last_waiting = number;
  waiting_count.fetch_add(1);
}

void let_wait(std::uint32_t number, CUevent event) noexcept {
  const GuardLock lock;
  if (!lock.held()) return; // it stays as it is: no harm but to memory
  GuardBlock& block = guard_blocks.at(number);
  block.state = BlockState::kWaiting;
  block.event = event;
  append_waiting(number);
}

CUcontext context_for(const GuardBlock& block) noexcept {
  CUcontext current = nullptr;
  if (block.context != nullptr) return block.context;
  guard_driver.current(&current); // pool memory outlives its context
  return current;
}

// All work of the context is done. CUDA's answer if it is not.
int wait_for_context(const GuardBlock& block) noexcept {
  const WithContext with(context_for(block));
  return with.ready() ? guard_driver.synchronize() : int{CUDA_ERROR_INVALID_CONTEXT};
}

Checked check_one(GuardBlock& block, int milliseconds) noexcept {
  if (!block.has_pattern) return Checked::kDone;
  const WithContext with(context_for(block));
  if (!with.ready()) return Checked::kFailed;
  return check_patterns(&block, 1, trace::GuardMoment::kFree, milliseconds);
}

// Some blocks of the list's beginning, claimed by this thread.
struct Batch {
  std::uint32_t numbers[kCheckedAtOnce];
  GuardBlock blocks[kCheckedAtOnce];
  unsigned count = 0;
};

void take_batch(Batch& batch) noexcept {
  const GuardLock lock;
  if (!lock.held()) return;
  while (first_waiting != 0 && batch.count != kCheckedAtOnce) {
    const std::uint32_t number = first_waiting;
    batch.numbers[batch.count] = number;
    batch.blocks[batch.count++] = guard_blocks.at(number);
    stop_waiting(number);
    guard_blocks.at(number).state = BlockState::kReleasing;
  }
}

bool is_over(const GuardBlock& block, bool wait) noexcept {
  if (block.event == nullptr) return !any_capture() && wait_for_context(block) == 0;
  return (wait ? guard_driver.wait(block.event) : guard_driver.is_done(block.event)) == 0;
}

// Whether the block's memory was given back.
bool finish(std::uint32_t number, GuardBlock& block, bool wait) noexcept {
  if (!is_over(block, wait)) return false;
  const Checked checked = check_one(block, wait ? kLongestCheck : kShortCheck);
  if (checked == Checked::kLater) return false;
  if (checked == Checked::kFailed) count_unchecked();
  if (block.event != nullptr) keep_event(block.event);
  release_memory(number, block);
  return true;
}

[[gnu::noinline]] void finish_batch(bool all) noexcept {
  Batch batch;
  take_batch(batch);
  for (unsigned i = 0; i < batch.count; ++i) {
    if (!finish(batch.numbers[i], batch.blocks[i], all))
      let_wait(batch.numbers[i], batch.blocks[i].event);
  }
}

bool refuses_in_capture(std::uint32_t number, CUresult* result) noexcept {
  const int refused = refusal_while_capturing();
  *result = static_cast<CUresult>(refused);
  if (refused != 0) give_back_claim(number);
  return refused != 0;
}

CUresult free_now(std::uint32_t number, GuardBlock& block) noexcept {
  const int waited = wait_for_context(block);
  if (waited != 0) {
    give_back_claim(number);
    return static_cast<CUresult>(waited);
  }
  const std::uint64_t begin = Process::options().guard_sample != 0 ? monotonic_ns() : 0;
  const GuardWork work;
  const Checked checked = check_one(block, kLongestCheck);
  if (checked != Checked::kDone) count_unchecked();
  // Copies of ours that are not done would meet an unmapped page.
  if (checked == Checked::kLater) let_wait(number, nullptr);
  else release_memory(number, block);
  if (begin != 0) spent_on_release(monotonic_ns() - begin);
  return CUDA_SUCCESS;
}

} // namespace

void stop_waiting(std::uint32_t number) noexcept {
  std::uint32_t before = 0;
  for (std::uint32_t i = first_waiting; i != 0; before = i, i = guard_blocks.at(i).next) {
    if (i != number) continue;
    const std::uint32_t next = guard_blocks.at(i).next;
    if (before != 0) guard_blocks.at(before).next = next;
    else first_waiting = next;
    if (last_waiting == number) last_waiting = before;
    waiting_count.fetch_sub(1);
    return;
  }
}

void release_memory(std::uint32_t number, const GuardBlock& block) noexcept {
  const bool unmapped = guard_driver.unmap(block.mapping, block.mapped) == 0;
  if (unmapped) give_physical(block.device, block.mapped, block.memory);
  count_unguarded(block.mapped, block.bytes);
  if (GuardDevice* device = guard_device(block.device))
    device->hidden.fetch_sub(hidden_bytes(block.bytes, block.mapped));
  const GuardLock lock;
  if (!lock.held()) return;
  if (unmapped) {
    guard_blocks.remove(number);
    guard_blocks.space().give(block.range);
  } else {
    guard_blocks.at(number).state = BlockState::kStuck;
  }
}

bool free_guarded(CUdeviceptr address, CUresult* result) noexcept {
  finish_releases(false);
  GuardBlock block;
  const std::uint32_t number = claim(address, &block);
  if (number == 0) return false;
  if (any_capture()) {
    if (refuses_in_capture(number, result)) return true;
    let_wait(number, nullptr);
  } else {
    *result = free_now(number, block);
  }
  if (*result == CUDA_SUCCESS && block.pool != nullptr) pool_shrinks(block.pool, block.bytes);
  return true;
}

bool free_guarded_async(CUdeviceptr address, CUstream stream, CUresult* result) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (!fenced_addresses.contain(address)) return false;
  if (guard_driver.is_capturing(stream, &status) != 0) return false;
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) return false; // CUDA's own answer
  if (!any_capture()) finish_releases(false);
  GuardBlock block;
  const std::uint32_t number = claim(address, &block);
  if (number == 0) return false;
  *result = CUDA_SUCCESS;
  CUevent event = nullptr;
  {
    const GuardWork work;
    event = event_behind(stream);
  }
  if (event != nullptr || any_capture()) let_wait(number, event);
  else *result = free_now(number, block);
  if (*result == CUDA_SUCCESS && block.pool != nullptr) pool_shrinks(block.pool, block.bytes);
  return true;
}

void finish_releases(bool all) noexcept {
  const std::uint32_t waiting = waiting_count.load(std::memory_order_relaxed);
  if (waiting == 0) return;
  const GuardWork work;
  std::uint32_t done = 0;
  do {
    finish_batch(all);
    done += kCheckedAtOnce;
  } while (all && done < waiting);
}

void forget_guard_blocks() noexcept {
  first_waiting = last_waiting = 0;
  waiting_count.store(0);
  GuardLock::forget();
  guard_blocks.forget();
}

} // namespace gmt::interposer
