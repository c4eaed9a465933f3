// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/workers/block_states.h"

#include "simulated_cuda/executor/program/tracking.h"

#include <algorithm>
#include <cstring>

namespace gmt::executor {

class BlockStates::Hash {
public:
  void add(std::uint64_t value) {
    a_ = (a_ ^ value) * 0x9e3779b97f4a7c15ull;
    a_ ^= a_ >> 29;
    b_ = (b_ + value) * 0xc2b2ae3d27d4eb4full;
    b_ ^= b_ >> 31;
  }
  void add(const void* pointer) { add(reinterpret_cast<std::uint64_t>(pointer)); }
  void add(const std::byte* bytes, std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes + i, 8);
      add(eight);
    }
    for (; i < count; ++i) add(static_cast<std::uint64_t>(bytes[i]));
  }
  void add(const std::byte* registers, const Registers& those, std::uint32_t lanes) {
    for (const RegisterBytes& each : those) {
      const std::byte* at = registers + each.offset;
      if (each.bytes == 0) {
        std::uint32_t predicate;
        std::memcpy(&predicate, at, sizeof predicate);
        add(predicate & lanes);
        continue;
      }
      for (std::uint32_t m = lanes; m != 0; m &= m - 1)
        add(at + static_cast<std::uint32_t>(__builtin_ctz(m)) * each.bytes, each.bytes);
    }
  }
  State value() const { return {a_, b_}; }

private:
  std::uint64_t a_ = 1, b_ = 2;
};

namespace {

// Whether what single instructions keep for themselves may be read from here on.
bool is_inside(const Code& code, const Instruction* at) {
  const bool is_first = at == code.instructions.data() || (at - 1)->source != at->source;
  if (is_first || at->source >= code.body->instructions.size()) return false;
  return code.body->mnemonic(code.body->instructions[at->source]).opcode != "bra";
}

std::uint32_t untracked_bytes(const Code& code) {
  if (code.tracked_positions.empty()) return code.register_bytes;
  return (code.register_bytes - kTrackedTemporaryBytes) / 2;
}

} // namespace

BlockStates::Function& BlockStates::function_of(const Program& program, const Code& code) {
  const auto [at, is_new] = functions_.try_emplace(&code);
  Function& function = at->second;
  if (!is_new) return function;
  const ptx::Body& body = *code.body;
  const ptx::Flow flow = ptx::flow_of(*code.module, body);
  const bool is_kernel = program.linked->functions()[code.linked].function->is_entry;
  function.loops = ptx::time_loops_of(body, flow, is_kernel);
  function.loop_of.assign(body.instructions.size(), ptx::kNone);
  if (function.loops.empty()) return function;
  for (std::uint32_t loop = 0; loop < function.loops.size(); ++loop) {
    for (const std::uint32_t b : function.loops[loop].blocks)
      std::fill(function.loop_of.begin() + flow.blocks[b].first,
                function.loop_of.begin() + flow.blocks[b].last, loop);
  }
  function.slots = allocate_slots(body, flow);
  function.layout = FrameLayout(body, function.slots);
  for (std::uint32_t r = 0; r < body.registers.size(); ++r) {
    const Slot slot = function.slots.of[r];
    if (slot.index == ptx::kNone) continue;
    const std::uint32_t bytes = ptx::bits_of(body.registers[r].type) / 8;
    function.all.push_back({function.layout.offset_of(slot, bytes), bytes});
  }
  std::ranges::sort(function.all);
  function.all.erase(std::unique(function.all.begin(), function.all.end()), function.all.end());
  return function;
}

std::uint32_t BlockStates::loop_at(const Function& function, const Instruction* at) {
  if (at == nullptr || at->source >= function.loop_of.size()) return ptx::kNone;
  return function.loop_of[at->source];
}

const BlockStates::Registers& BlockStates::counted_at(const Code& code, Function& function,
                                                      std::uint32_t source) {
  const auto [at, is_new] = function.counted.try_emplace(source);
  if (!is_new) return at->second;
  const auto& ignored = function.loops[function.loop_of[source]].registers;
  for (std::uint32_t r = 0; r < code.body->registers.size(); ++r) {
    const Slot slot = function.slots.of[r];
    if (slot.index == ptx::kNone || !function.slots.lives[r].holds_before(source)) continue;
    if (std::ranges::binary_search(ignored, r)) continue;
    const std::uint32_t bytes = ptx::bits_of(code.body->registers[r].type) / 8;
    at->second.push_back({function.layout.offset_of(slot, bytes), bytes});
  }
  return at->second;
}

bool BlockStates::ignores_time(const Warp& w, const Instruction* in) {
  return loop_at(function_of(*w.program, *w.frame->code), in) != ptx::kNone;
}

void BlockStates::add_fragment(Hash& hash, const Fragment& fragment) {
  hash.add(fragment.at);
  hash.add(fragment.frame);
  hash.add(std::uint64_t{fragment.mask} << 32 | fragment.lanes);
  hash.add(std::uint64_t{fragment.barrier} << 8 | static_cast<std::uint64_t>(fragment.wait));
  standing_.push_back({fragment.frame, fragment.at, fragment.mask, fragment.wait != Wait::kNone});
  for (const Join* join = fragment.join; join != nullptr; join = join->parent) {
    hash.add(std::uint64_t{join->expected} << 32 | join->arrived);
    hash.add(join->resume);
    standing_.push_back({join->frame, join->resume, join->arrived, false});
  }
}

void BlockStates::add_registers(Hash& hash, const Warp& w, const Frame& frame) {
  const Code& code = *frame.code;
  Function& function = function_of(*w.program, code);
  std::uint32_t others = ~0u;
  bool uses_temporaries = false;
  for (const Standing& each : standing_) {
    if (each.frame != &frame || loop_at(function, each.at) == ptx::kNone) continue;
    hash.add(frame.registers, counted_at(code, function, each.at->source), each.lanes & others);
    others &= ~each.lanes;
    if (!each.waits) in_loops_ |= each.lanes;
    uses_temporaries = uses_temporaries || is_inside(code, each.at);
  }
  if (others == ~0u) return hash.add(frame.registers, code.register_bytes);
  hash.add(frame.registers, function.all, others);
  hash.add(frame.registers + function.layout.carry,
           function.layout.files[1] - function.layout.carry);
  const std::uint32_t end = untracked_bytes(code);
  if (uses_temporaries || (others & w.alive) != 0)
    hash.add(frame.registers + function.layout.temporaries, end - function.layout.temporaries);
  hash.add(frame.registers + end, code.register_bytes - end);
}

void BlockStates::add_warp(Hash& hash, const Warp& w) {
  hash.add(w.alive);
  if (w.alive == 0) return;
  standing_.clear();
  hash.add(w.at);
  if (w.at != nullptr) add_fragment(hash, w.standing(w.at));
  for (const Fragment& each : w.ready) add_fragment(hash, each);
  for (const Fragment& each : w.waiting) add_fragment(hash, each);
  hash.add(w.forced);
  for (const Frame* frame : w.all_frames) {
    if (std::find(w.spare_frames.begin(), w.spare_frames.end(), frame) != w.spare_frames.end())
      continue;
    add_registers(hash, w, *frame);
    hash.add(frame->parameters, std::size_t{frame->code->parameter_bytes} * kLanes);
  }
  hash.add(w.local.data(), w.local.size());
}

BlockStates::State BlockStates::of(const Block& block, std::vector<std::uint32_t>& in_loops) {
  Hash hash;
  in_loops.clear();
  for (const auto& warp : block.warps) {
    in_loops_ = 0;
    add_warp(hash, *warp);
    in_loops.push_back(in_loops_);
  }
  for (const Barrier& barrier : block.barriers) {
    hash.add(std::uint64_t{barrier.expected} << 32 | barrier.arrived);
    hash.add(std::uint64_t{barrier.ones} << 32 | barrier.voters);
  }
  return hash.value();
}

} // namespace gmt::executor
