// SPDX-License-Identifier: Apache-2.0
// Barriers of a block. An aligned barrier waits until all lanes of the warp are at it; lanes of one
// warp that stand at different aligned barriers are reported, and then count where they stand. A
// barrier without a count waits for the threads that have not left.
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/cluster.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {
namespace {

std::uint32_t lane_value(const Warp& w, const std::byte* registers, std::uint32_t operand,
                         std::uint32_t lane) {
  const std::byte* from = (operand & kConstantOperand) != 0 ? w.base[1] : registers;
  std::uint32_t value;
  __builtin_memcpy(&value, from + (operand & 0x7fffffffu) + lane * 4, 4);
  return value;
}

std::uint32_t barrier_of(const Warp& w, const Instruction* in, const Frame* frame,
                         std::uint32_t mask) {
  const auto lane = static_cast<std::uint32_t>(__builtin_ctz(mask));
  return lane_value(w, frame->registers, in->r[1], lane) % Block::kBarriers;
}

// The result of bar.red for the lanes of a fragment.
void write_result(Warp& w, const Instruction* in, const Frame* frame, std::uint32_t mask,
                  const Barrier& barrier) {
  const std::uint32_t kind = in->extra >> 1;
  if (kind < kBarrierOr || in->r[0] == kNoOperand) return;
  std::byte* to = frame->registers + in->r[0];
  if (kind == kBarrierPopc) {
    for (std::uint32_t m = mask; m != 0; m &= m - 1)
      __builtin_memcpy(to + 4 * __builtin_ctz(m), &barrier.ones, 4);
    return;
  }
  const bool is = kind == kBarrierOr ? barrier.ones != 0 : barrier.ones == barrier.voters;
  std::uint32_t old;
  __builtin_memcpy(&old, to, 4);
  const std::uint32_t value = is ? old | mask : old & ~mask;
  __builtin_memcpy(to, &value, 4);
  static_cast<void>(w);
}

// What lanes did that arrive and do not wait.
void note_arrival(Warp& w, Barrier& barrier) {
  Block& block = *w.block;
  if (!block.is_ordered) return;
  barrier.has_arrivals = true;
  block.order.release(block, {&w, w.mask}, barrier.order);
}

// __syncthreads(): aligned, and without a count of threads.
bool is_plain_barrier(const Instruction& in) {
  return in.extra == (kBarrierSync << 1 | 1) && in.r[2] == kNoOperand;
}

std::pair<const Warp*, const Fragment*> waiting_at(const Block& block, std::uint32_t which) {
  for (const auto& warp : block.warps) {
    for (const Fragment& fragment : warp->waiting) {
      if (fragment.wait == Wait::kBarrier && fragment.barrier == which)
        return {warp.get(), &fragment};
    }
  }
  return {nullptr, nullptr};
}

// The last warp comes to a barrier of the block. PTX counts threads at any instruction that names
// it; lanes of one warp that stand apart are reported elsewhere.
void check_apart(const Warp& last, const Instruction* in, std::uint32_t which) {
  if (last.mask != last.alive) return;
  for (const auto& warp : last.block->warps) {
    for (const Fragment& fragment : warp->waiting) {
      const bool is_met = fragment.wait == Wait::kBarrier && fragment.barrier == which;
      if (!is_met || fragment.at == in || fragment.mask != warp->alive) continue;
      if ((fragment.at->extra & 1) == 0) continue;
      OtherThread other;
      other.code = fragment.frame->code;
      other.in = fragment.at;
      other.thread = warp->id * kLanes + static_cast<std::uint32_t>(__builtin_ctz(fragment.mask));
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(last.mask));
      return last.worker->checks->meets_elsewhere(facts_of(last, in, lane), other);
    }
  }
}

} // namespace

void Block::release(std::uint32_t which, const Ordering::Lanes& last) {
  Barrier& barrier = barriers[which];
  std::vector<Ordering::Lanes>& all = let_go;
  all.clear();
  std::uint32_t count = static_cast<std::uint32_t>(__builtin_popcount(last.mask));
  if (last.mask != 0) all.push_back(last);
  for (const auto& warp : warps) {
    auto& waiting = warp->waiting;
    for (std::size_t i = 0; i < waiting.size();) {
      Fragment fragment = waiting[i];
      if (fragment.wait != Wait::kBarrier || fragment.barrier != which) {
        ++i;
        continue;
      }
      write_result(*warp, fragment.at, fragment.frame, fragment.mask, barrier);
      all.push_back({warp.get(), fragment.mask});
      count += static_cast<std::uint32_t>(__builtin_popcount(fragment.mask));
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      ++fragment.at;
      fragment.wait = Wait::kNone;
      warp->ready.push_back(fragment);
    }
  }
  if (is_ordered) {
    if (count >= alive && !barrier.has_arrivals) barrier_of_all();
    else order.meet(*this, all, barrier.order.row);
  }
  barrier = Barrier{};
}

void Block::complete_barriers() {
  for (std::uint32_t i = 0; i < kBarriers; ++i) {
    const Barrier& barrier = barriers[i];
    if (barrier.arrived == 0 || barrier.expected != 0 || barrier.arrived < alive) continue;
    if (const auto [warp, fragment] = waiting_at(*this, i); fragment != nullptr)
      note_left_out(*warp, fragment->at, *fragment->frame->code, fragment->mask);
    release(i, {});
  }
}

void Block::note_left_out(const Warp& w, const Instruction* in, const Code& code,
                          std::uint32_t lanes) {
  if (!is_plain_barrier(*in) || passed_without_all == in) return;
  passed_without_all = in;
  for (const auto& warp : warps) {
    const std::uint32_t gone = warp->present & ~warp->alive;
    if (gone == 0 || warp->left_at == nullptr) continue;
    OtherThread other;
    other.code = warp->left_code;
    other.in = warp->left_at;
    other.thread = warp->id * kLanes + static_cast<std::uint32_t>(__builtin_ctz(gone));
    AccessFacts facts = facts_of(w, in, static_cast<std::uint32_t>(__builtin_ctz(lanes)));
    facts.code = &code;
    return worker->checks->left_out(facts, other);
  }
}

void Block::lanes_left(const Warp& w, std::uint32_t lanes) {
  alive -= static_cast<std::uint32_t>(__builtin_popcount(lanes));
  cluster->lanes_left(*this, w, lanes);
  if (alive != 0) complete_barriers();
}

const Instruction* Warp::barrier(const Instruction* in) {
  const bool aligned = (in->extra & 1) != 0;
  if (!aligned || mask == alive) return arrive_at_barrier(in);
  std::uint32_t here = mask;
  for (const Fragment& other : waiting) {
    if (other.wait == Wait::kPartial && other.at == in && other.frame == frame) here |= other.mask;
  }
  if (here != alive) {
    waiting.push_back(standing(in, Wait::kPartial));
    return next_fragment();
  }
  std::vector<Fragment> left;
  for (const Fragment& other : waiting) {
    if (other.wait != Wait::kPartial || other.at != in || other.frame != frame) {
      left.push_back(other);
      continue;
    }
    if (other.join != join) merge_joins(other, join);
  }
  waiting = left;
  set_mask(here);
  return arrive_at_barrier(in);
}

const Instruction* Warp::arrive_at_barrier(const Instruction* in) {
  const std::uint32_t which = barrier_of(*this, in, frame, mask);
  const std::uint32_t kind = in->extra >> 1;
  const auto first = static_cast<std::uint32_t>(__builtin_ctz(mask));
  Barrier& barrier = block->barriers[which];
  std::uint32_t count = active;
  if (in->r[2] != kNoOperand) {
    barrier.expected = lane_value(*this, frame->registers, in->r[2], first);
    if (mask == alive) count = kLanes; // warps are counted as a whole
  }
  barrier.arrived += count;
  if (kind >= kBarrierOr && in->r[3] != kNoOperand) {
    std::uint32_t predicate;
    const std::byte* from = (in->r[3] & kConstantOperand) != 0 ? base[1] : base[0];
    __builtin_memcpy(&predicate, from + (in->r[3] & 0x7fffffffu), 4);
    barrier.ones += static_cast<std::uint32_t>(__builtin_popcount(predicate & mask));
    barrier.voters += active;
  }
  const std::uint32_t wanted = barrier.expected != 0 ? barrier.expected : block->alive;
  if (barrier.arrived >= wanted) {
    write_result(*this, in, frame, mask, barrier);
    if (kind == kBarrierArrive) note_arrival(*this, barrier);
    if (is_plain_barrier(*in)) check_apart(*this, in, which);
    if (block->alive < block->threads) block->note_left_out(*this, in, *frame->code, mask);
    block->release(which, {this, kind == kBarrierArrive ? 0 : mask});
    return in + 1;
  }
  if (kind == kBarrierArrive) {
    note_arrival(*this, barrier);
    return in + 1;
  }
  Fragment fragment = standing(in, Wait::kBarrier);
  fragment.barrier = which;
  waiting.push_back(fragment);
  return next_fragment();
}

// No lane of the warp can go on: those at aligned barriers count where they are.
bool Warp::split_barriers() {
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].wait != Wait::kPartial) continue;
    const Fragment fragment = waiting[i];
    for (const Fragment& other : waiting) {
      const bool elsewhere = other.at != fragment.at && other.wait == Wait::kPartial;
      if (!elsewhere || (other.at->extra & 1) == 0) continue;
      OtherThread there;
      there.code = other.frame->code;
      there.in = other.at;
      there.thread = id * kLanes + static_cast<std::uint32_t>(__builtin_ctz(other.mask));
      AccessFacts facts =
        facts_of(*this, fragment.at, static_cast<std::uint32_t>(__builtin_ctz(fragment.mask)));
      facts.code = fragment.frame->code;
      worker->checks->never_meet(facts, there, false);
      break;
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    load(fragment);
    const Instruction* next = arrive_at_barrier(fragment.at);
    if (next != nullptr) ready.push_back(standing(next));
    set_mask(0);
    return true;
  }
  return false;
}

// Lanes that named others which will never come: reported, and they go on without them.
bool Warp::force_waiting() {
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].wait != Wait::kOthers) continue;
    Fragment fragment = waiting[i];
    const std::uint32_t missing = fragment.lanes & alive & ~fragment.mask;
    OtherThread other;
    for (const Fragment& each : waiting) {
      if ((each.mask & missing) == 0) continue;
      other.code = each.frame->code;
      other.in = each.at;
      other.thread = id * kLanes + static_cast<std::uint32_t>(__builtin_ctz(each.mask & missing));
      break;
    }
    AccessFacts facts =
      facts_of(*this, fragment.at, static_cast<std::uint32_t>(__builtin_ctz(fragment.mask)));
    facts.code = fragment.frame->code;
    worker->checks->never_meet(facts, other, false);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    fragment.wait = Wait::kNone;
    if (fragment.barrier != 0) ++fragment.at;
    else forced = fragment.at;
    fragment.barrier = 0;
    ready.push_back(fragment);
    return true;
  }
  return false;
}

} // namespace gmt::executor
