// SPDX-License-Identifier: Apache-2.0
// Fragments of a warp: how lanes part, meet at joins and leave, and which of them runs next. Lanes
// that wait at a join are released when the others spin, so that a lock inside a warp is let go;
// and when every fragment waits for something that only they can bring.
#include "simulated_cuda/executor/machine/warp.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>

namespace gmt::executor {
namespace {

constexpr std::int32_t kTurn = 4096;       // backward branches of a warp until others run
constexpr std::int32_t kSpinTurn = 512;    // of one that has had such a turn
constexpr std::int32_t kFragmentTurn = 64; // where lanes wait for the fragment that spins

} // namespace

void Warp::load(const Fragment& fragment) {
  set_mask(fragment.mask);
  frame = fragment.frame;
  join = fragment.join;
  base[0] = frame->registers;
}

void Warp::start(Frame* first, std::uint32_t lanes) {
  if (program != grid->program) { // the block before made it track its registers
    program = grid->program;
    is_tracked = program->is_tracked;
    reset_frames();
  }
  frame = first;
  join = nullptr;
  set_mask(lanes);
  alive = present = lanes;
  left_at = nullptr;
  base[0] = first->registers;
  at = first->code->instructions.data();
  budget = calls = kTurn;
  last_sync = 0;
  turns = 0;
  spinning = false;
}

Join* Warp::new_join() {
  if (spare_joins.empty()) {
    all_joins.push_back(new Join);
    return all_joins.back();
  }
  Join* made = spare_joins.back();
  spare_joins.pop_back();
  *made = Join{};
  return made;
}

// Lanes that have arrived go on: at a join, since they may be expected at the parent there as well.
Fragment Warp::leave_join(Join* from) {
  Fragment fragment;
  fragment.at = from->resume;
  fragment.mask = from->arrived;
  fragment.frame = from->frame;
  fragment.join = from->parent;
  if (from->finished != nullptr) take_results(from->finished, from->arrived);
  return fragment;
}

// All that are expected have arrived, or none is expected any more: the join is over.
void Warp::settle(Join* done) {
  if (done->expected != done->arrived) return;
  if (done->arrived != 0) ready.push_back(leave_join(done));
  if (done->finished != nullptr) free_frame(done->finished);
  spare_joins.push_back(done);
}

// Lanes that will never come are not waited for: in the joins from `from` up to `end`.
void Warp::drop_lanes(Join* from, const Join* end, std::uint32_t lanes) {
  while (from != end) {
    Join* parent = from->parent;
    from->expected &= ~lanes;
    settle(from);
    from = parent;
  }
}

// The parent of a call's join is the join of the caller.
const Instruction* Warp::arrive(const Instruction*) {
  Join* here = join;
  here->arrived |= mask;
  settle(here);
  return next_fragment();
}

const Instruction* Warp::next_fragment() {
  while (true) {
    if (!ready.empty()) {
      const Fragment fragment = ready.back();
      ready.pop_back();
      load(fragment);
      return fragment.at;
    }
    set_mask(0);
    if (!waiting.empty() && wake_complete()) continue;
    bool released = false;
    for (const Fragment& fragment : waiting) released |= release_joins(fragment.join);
    if (released || split_barriers()) continue;
    return nullptr;
  }
}

bool Warp::release_joins(Join* innermost) {
  bool released = false;
  for (Join* each = innermost; each != nullptr; each = each->parent) {
    if (each->arrived == 0) continue;
    ready.insert(ready.begin(), leave_join(each));
    each->expected &= ~each->arrived;
    each->arrived = 0;
    released = true;
  }
  return released;
}

Fragment Warp::standing(const Instruction* in, Wait wait) const {
  Fragment fragment;
  fragment.at = in;
  fragment.mask = mask;
  fragment.frame = frame;
  fragment.join = join;
  fragment.wait = wait;
  return fragment;
}

Join* Warp::open_join(const Instruction* meet) {
  Join* made = new_join();
  made->expected = mask;
  made->resume = meet;
  made->parent = join;
  made->frame = frame;
  return made;
}

void Warp::expect_all_at(const Instruction* meet) {
  const bool is_open = join != nullptr && join->resume == meet && join->frame == frame;
  if (!is_open) join = open_join(meet);
}

void Warp::part(const Instruction* to, std::uint32_t lanes) {
  Fragment fragment = standing(to);
  fragment.mask = lanes;
  ready.push_back(fragment);
}

// Lanes that branch to where all meet have arrived there.
const Instruction* Warp::branch(const Instruction* in, std::uint32_t taken) {
  const Instruction* meet = in->join != 0 ? in + in->join : nullptr;
  if (meet != nullptr) expect_all_at(meet);
  const std::uint32_t others = mask & ~taken;
  const auto go = [&](const Instruction* to, std::uint32_t lanes) {
    if (to == meet) join->arrived |= lanes;
    else part(to, lanes);
  };
  const bool is_mixed = grid->seed != 0 && block->number < grid->launch->mixed_blocks;
  const bool is_swapped = is_mixed && (block->random.next() & 1) != 0; // the last goes first
  if (is_swapped) go(in + 1, others);
  go(in + in->immediate, taken);
  if (!is_swapped) go(in + 1, others);
  if (meet != nullptr) settle(join); // where the branch leads to what follows it anyway
  return next_fragment();
}

const Instruction* Warp::table_branch(const Instruction* in) {
  const auto& targets = frame->code->tables[in->extra];
  const auto* index =
    reinterpret_cast<const std::uint32_t*>(base[in->r[0] >> 31] + (in->r[0] & 0x7fffffffu));
  const Instruction* code = frame->code->instructions.data();
  const Instruction* meet = in->join != 0 ? in + in->join : nullptr;
  std::uint32_t left = mask;
  const std::uint32_t most = targets.empty() ? 0 : static_cast<std::uint32_t>(targets.size()) - 1;
  if (targets.empty()) return end_grid(*this, 715);
  const auto target_of = [&](std::uint32_t lane) {
    return code + targets[std::min(index[lane], most)];
  };
  const auto first = static_cast<std::uint32_t>(__builtin_ctz(left));
  bool uniform = true, back = false;
  for (std::uint32_t m = left; m != 0; m &= m - 1) {
    const Instruction* to = target_of(static_cast<std::uint32_t>(__builtin_ctz(m)));
    uniform &= to == target_of(first);
    back |= to <= in;
  }
  if (back && --budget < 0) return turn_over(in);
  if (uniform) return target_of(first);
  if (meet != nullptr) expect_all_at(meet);
  while (left != 0) {
    const Instruction* to = target_of(static_cast<std::uint32_t>(__builtin_ctz(left)));
    std::uint32_t lanes = 0;
    for (std::uint32_t m = left; m != 0; m &= m - 1) {
      const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
      if (target_of(lane) == to) lanes |= 1u << lane;
    }
    left &= ~lanes;
    if (to == meet) join->arrived |= lanes;
    else part(to, lanes);
  }
  return next_fragment();
}

const Instruction* Warp::leave(const Instruction* in) {
  const std::uint32_t gone = mask;
  left_at = in;
  left_code = frame->code;
  alive &= ~gone;
  drop_lanes(join, nullptr, gone);
  for (Fragment& fragment : waiting) fragment.lanes &= ~gone;
  block->lanes_left(*this, gone);
  return next_fragment();
}

void Warp::stop() {
  alive = 0;
  at = nullptr;
  set_mask(0);
  ready.clear();
  waiting.clear();
  reset_frames();
  spare_joins = all_joins;
}

// Calls alone can go on for ever: limits are looked at between turns.
const Instruction* Warp::pause(const Instruction* in) {
  calls = kTurn;
  at = in;
  return nullptr;
}

// Lanes that wait for this fragment are released; then the others of the warp have their turn, and
// in the end other warps.
const Instruction* Warp::turn_over(const Instruction* in) {
  const bool released = release_joins(join);
  if (released || !ready.empty()) {
    ready.insert(ready.begin(), standing(in));
    ++turns;
    budget = kFragmentTurn;
    constexpr std::uint32_t kMany = kTurn / kFragmentTurn, kLess = kSpinTurn / kFragmentTurn;
    if (turns < kMany || turns % kLess != 0) return next_fragment();
    spinning = true;
    at = next_fragment();
    return nullptr;
  }
  turns = kTurn / kFragmentTurn;
  budget = kSpinTurn;
  spinning = true;
  at = in;
  return nullptr;
}

} // namespace gmt::executor
