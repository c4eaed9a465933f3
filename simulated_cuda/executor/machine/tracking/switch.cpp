// SPDX-License-Identifier: Apache-2.0
// The two programs have the same functions, instructions and registers; tracking has added to them.
// So each frame gets a copy with shadows, and each pointer into code leads to the same instruction.
#include "simulated_cuda/executor/machine/tracking/switch.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"
#include "simulated_cuda/executor/machine/report_sink.h"
#include "simulated_cuda/executor/machine/tracking/tracked.h"
#include "simulated_cuda/executor/machine/tracking/twin.h"
#include "simulated_cuda/executor/machine/workers/worker.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace gmt::executor {
namespace {

class Switch {
public:
  Switch(Warp& w, const Program& to) : w_(w), from_(*w.program), to_(to) {
    for (Frame* each : w.all_frames) {
      if (!holds(w.spare_frames, each)) old_.push_back(each);
    }
  }

  bool is_possible() const {
    std::uint64_t more = 0;
    for (const Frame* each : old_) {
      const Code& code = tracked(*each->code);
      if (code.tracked_positions.empty()) return false;
      more += code.register_bytes + std::uint64_t{code.parameter_bytes} * kLanes;
    }
    // A quarter is left for calls, which a launch cannot do without
    const std::uint64_t most = w_.grid->launch->limits.memory_bytes;
    return w_.worker->run->held_bytes() + more <= most - most / 4;
  }

  void run() {
    w_.program = &to_;
    w_.is_tracked = true;
    w_.local_shadow.assign(w_.local.size(), std::byte{0});
    for (Frame* each : old_) new_[each] = copy(*each);
    for (Frame* each : old_) link(*each);
    for (Join* each : w_.all_joins) {
      if (!holds(w_.spare_joins, each)) move(*each);
    }
    for (Fragment& each : w_.ready) {
      each.at = moved(each.frame, each.at, &TrackedPosition::start);
      each.frame = new_.at(each.frame);
    }
    if (w_.forced != nullptr) w_.forced = forced();
    for (Fragment& each : w_.waiting) wait_on(each);
    w_.frame = new_.at(w_.frame);
    w_.base[0] = w_.frame->registers;
    for (Frame* each : old_) {
      if (each != w_.first_frame) w_.free_frame(each);
    }
  }

private:
  template <class T>
  static bool holds(const std::vector<T*>& all, const T* one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  const Code& tracked(const Code& code) const {
    return *to_.functions[to_.function_of_linked.at(code.linked)];
  }
  const Instruction* moved(const Frame* old, const Instruction* at,
                           std::uint32_t TrackedPosition::* which) const {
    return in_code(*old->code, at, which);
  }
  const Instruction* in_code(const Code& code, const Instruction* at,
                             std::uint32_t TrackedPosition::* which) const {
    const Code& to = tracked(code);
    const auto index = static_cast<std::size_t>(at - code.instructions.data());
    return to.instructions.data() + to.tracked_positions[index].*which;
  }

  // All shadows are 0: written.
  Frame* copy(const Frame& old) {
    const Code& code = *old.code;
    const Code& to = tracked(code);
    Frame* made = w_.new_frame(to);
    std::byte* registers = made->registers;
    std::byte* parameters = made->parameters;
    *made = old;
    made->code = &to;
    made->registers = registers;
    made->parameters = parameters;
    std::memcpy(registers, old.registers, code.register_bytes);
    std::memset(registers + code.register_bytes, 0, to.register_bytes - code.register_bytes);
    std::memset(parameters, 0, std::size_t{to.parameter_bytes} * kLanes);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      std::memcpy(parameters + lane * to.parameter_bytes,
                  old.parameters + lane * code.parameter_bytes, code.parameter_bytes);
    return made;
  }
  void link(const Frame& old) {
    if (old.caller == nullptr) return;
    Frame& made = *new_.at(&old);
    made.caller = new_.at(old.caller);
    made.site = &made.caller->code
                   ->calls[static_cast<std::size_t>(old.site - old.caller->code->calls.data())];
  }
  void move(Join& join) {
    join.resume = moved(join.frame, join.resume, &TrackedPosition::start);
    join.frame = new_.at(join.frame);
    if (join.finished != nullptr) join.finished = new_.at(join.finished);
  }
  // It stands at its instruction, behind what tracking does before.
  void wait_on(Fragment& fragment) {
    const Instruction* own = moved(fragment.frame, fragment.at, &TrackedPosition::own);
    const Instruction* start = moved(fragment.frame, fragment.at, &TrackedPosition::start);
    fragment.frame = new_.at(fragment.frame);
    fragment.at = own;
    const Fragment runs = w_.standing(nullptr);
    const std::uint32_t active = w_.active;
    w_.load(fragment);
    while (start != own) start = start->go(w_, start);
    w_.mask = runs.mask;
    w_.active = active;
    w_.frame = runs.frame;
    w_.join = runs.join;
  }
  const Instruction* forced() const {
    for (const auto& code : from_.functions) {
      const Instruction* begin = code->instructions.data();
      if (w_.forced >= begin && w_.forced < begin + code->instructions.size())
        return in_code(*code, w_.forced, &TrackedPosition::own);
    }
    return nullptr;
  }

  Warp& w_;
  const Program& from_;
  const Program& to_;
  std::vector<Frame*> old_;
  std::map<const Frame*, Frame*> new_;
};

// The load gave the bytes of `lane` into the shadows of its registers.
void spoil(Warp& w, const Instruction* load, std::uint32_t registers, std::uint32_t lane,
           std::uint32_t bytes, std::uint64_t missing) {
  for (std::uint32_t i = 0; missing != 0; ++i, missing >>= 1) {
    if ((missing & 1) == 0) continue;
    const std::size_t at = std::size_t{lane} * bytes + i % bytes;
    w.base[0][load->r[i / bytes] + registers + at] = std::byte{0xff};
  }
}

void report_load(Warp& w, const Instruction* in, std::uint32_t bytes,
                 const UnwrittenLanes& unwritten) {
  for (std::uint32_t m = unwritten.lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const UnwrittenLanes::Lane& of = unwritten.of[lane];
    if (of.missing != (std::uint64_t{1} << bytes) - 1) continue;
    AccessFacts facts = facts_of(w, in, lane);
    facts.access = Access::kLoad;
    facts.bytes = bytes;
    facts.space = of.space;
    facts.address = of.address;
    w.worker->checks->uninitialized(facts);
  }
}

// Lets the warp go on with tracked registers; where `in` is then. Null if that cannot be.
const TrackedPosition* track(Warp& w, const Instruction* in) {
  const Code& code = *w.frame->code;
  const Program* twin = w.grid->twin->get();
  if (twin == nullptr || !Switch(w, *twin).is_possible()) return nullptr;
  Switch(w, *twin).run();
  const auto index = static_cast<std::size_t>(in - code.instructions.data());
  return &w.frame->code->tracked_positions[index];
}

} // namespace

const Instruction* track_before(Warp& w, const Instruction* in) {
  const TrackedPosition* position = track(w, in);
  if (position == nullptr) return nullptr;
  return w.frame->code->instructions.data() + position->start;
}

const Instruction* track_from_here(Warp& w, const Instruction* in, std::uint32_t bytes,
                                   std::uint32_t count, const UnwrittenLanes& unwritten) {
  const Code& code = *w.frame->code;
  const TrackedPosition* position = track(w, in);
  if (position == nullptr) {
    report_load(w, in, bytes * count, unwritten);
    return in + 1;
  }
  const Instruction* load = w.frame->code->instructions.data() + position->own;
  for (std::uint32_t m = unwritten.lanes; m != 0; m &= m - 1) {
    const auto lane = static_cast<std::uint32_t>(__builtin_ctz(m));
    const UnwrittenLanes::Lane& of = unwritten.of[lane];
    spoil(w, load, code.register_bytes, lane, bytes, of.missing);
    remember_unwritten(w, {load - 1, lane, bytes * count, of.space, of.address}); // "track.ld"
  }
  return load + 1;
}

} // namespace gmt::executor
