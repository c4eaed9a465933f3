// SPDX-License-Identifier: Apache-2.0
// Looking at all blocks, and the ends of contexts and of the process: see fence.h.
#include "interposer/guard/fence.h"

#include "interposer/guard/driver.h"
#include "interposer/guard/notes.h"
#include "interposer/guard/pools.h"
#include "interposer/guard/slack.h"
#include "interposer/guard/store/events.h"

namespace gmt::interposer {

namespace {

constexpr int kLongestCheckAtEnd = 500;

struct Some {
  std::uint32_t numbers[kCheckedAtOnce];
  GuardBlock blocks[kCheckedAtOnce];
  unsigned count = 0;
};

// The next live blocks of one context, from number `*from` on. Those of other contexts are passed
// over where `context` is given; where it is not, the batch ends there.
void take_some(std::uint32_t* from, CUcontext context, Some& some) noexcept {
  const GuardLock lock;
  if (!lock.held()) return;
  for (; *from <= guard_blocks.most() && some.count != kCheckedAtOnce; ++*from) {
    const GuardBlock& block = guard_blocks.at(*from);
    if (block.state != BlockState::kLive || !block.has_pattern || block.context == nullptr)
      continue;
    if (context != nullptr && block.context != context) continue;
    if (some.count != 0 && some.blocks[0].context != block.context) return;
    some.numbers[some.count] = *from;
    some.blocks[some.count++] = block;
  }
}

void keep_findings(const Some& some) noexcept {
  const GuardLock lock;
  if (!lock.held()) return;
  for (unsigned i = 0; i < some.count; ++i) {
    GuardBlock& block = guard_blocks.at(some.numbers[i]);
    if (block.state != BlockState::kLive || block.address != some.blocks[i].address) continue;
    block.since = some.blocks[i].since;
    block.has_pattern = some.blocks[i].has_pattern;
  }
}

[[gnu::noinline]] bool check_some(std::uint32_t* from, CUcontext context,
                                  trace::GuardMoment moment) noexcept {
  Some some;
  take_some(from, context, some);
  if (some.count == 0) return false;
  const WithContext with(some.blocks[0].context);
  const bool looked = with.ready() && check_patterns(some.blocks, some.count, moment,
                                                     kLongestCheckAtEnd) == Checked::kDone;
  if (looked) keep_findings(some);
  for (unsigned i = 0; !looked && i < some.count; ++i) count_unchecked();
  return looked; // one that cannot be looked at will not be better for the others
}

// The next block that ends with the context, claimed by this thread. Pool memory outlives it.
std::uint32_t claim_of(CUcontext context, std::uint32_t* from, GuardBlock* claimed) noexcept {
  const GuardLock lock;
  if (!lock.held()) return 0;
  for (; *from <= guard_blocks.most(); ++*from) {
    GuardBlock& block = guard_blocks.at(*from);
    const bool waits = block.state == BlockState::kWaiting;
    if ((block.state != BlockState::kLive && !waits) || block.context != context) continue;
    if (block.pool != nullptr && !waits) {
      block.context = nullptr;
      block.has_pattern = false;
      continue;
    }
    if (waits) stop_waiting(*from);
    block.state = BlockState::kReleasing;
    *claimed = block;
    return (*from)++;
  }
  return 0;
}

} // namespace

void check_live_blocks(CUcontext context, trace::GuardMoment moment) noexcept {
  const GuardWork work;
  std::uint32_t from = 1;
  while (check_some(&from, context, moment)) {
  }
}

void end_blocks_of(CUcontext context) noexcept {
  std::uint32_t from = 1;
  GuardBlock block;
  forget_events(); // those of the context are gone, and which they are is not known
  while (const std::uint32_t number = claim_of(context, &from, &block))
    release_memory(number, block);
  slack_context_has_ended(context);
}

} // namespace gmt::interposer
