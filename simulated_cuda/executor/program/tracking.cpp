// SPDX-License-Identifier: Apache-2.0
// The walk over a function: each instruction, with what is put before and behind it.
#include "simulated_cuda/executor/program/tracking.h"

#include "simulated_cuda/executor/program/tracker.h"

#include <algorithm>
#include <utility>

namespace gmt::executor {

void Tracker::run() {
  const std::vector<Instruction> old = std::move(code_.instructions);
  code_.instructions.clear();
  std::vector<TrackedPosition>& positions = code_.tracked_positions;
  computed_ = derivations_of_registers(*code_.body);
  Instruction& enter = emit("track.enter", old.front(), 0);
  enter.guard = kNoOperand;
  enter.r[0] = registers_;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const std::uint32_t start = count();
    before(old[i]);
    positions.push_back({start, count()});
    code_.instructions.push_back(old[i]);
    code_.tracked_results.push_back(0);
    behind(old[i]);
  }
  positions.push_back({count(), count()}); // behind the last
  const auto moved = [&](std::size_t from, std::int64_t distance) {
    const auto to = static_cast<std::size_t>(static_cast<std::int64_t>(from) + distance);
    return std::int64_t{positions[to].start} - positions[from].own;
  };
  for (std::size_t i = 0; i < old.size(); ++i) {
    Instruction& in = code_.instructions[positions[i].own];
    if (in.join != 0) in.join = static_cast<std::int32_t>(moved(i, in.join));
    if (shape(old[i]).kind == Shape::Kind::kBranch) in.immediate = moved(i, in.immediate);
  }
  for (auto& table : code_.tables) {
    for (std::int32_t& target : table)
      target = static_cast<std::int32_t>(positions[static_cast<std::size_t>(target)].start);
  }
  code_.register_bytes = 2 * registers_ + kTrackedTemporaryBytes;
  double_parameters(program_, code_);
}

Instruction& Tracker::emit(const std::string& name, const Instruction& of, std::uint8_t results) {
  Instruction in;
  in.form = intern(name);
  in.source = of.source;
  if (shape(of).kind != Shape::Kind::kBranch) { // whose guard is its condition
    in.guard = of.guard;
    in.flip = of.flip;
  }
  code_.instructions.push_back(in);
  code_.tracked_results.push_back(results);
  return code_.instructions.back();
}

std::uint32_t Tracker::intern(const std::string& name) {
  const auto found = std::find(program_.forms.begin(), program_.forms.end(), name);
  const auto at = static_cast<std::uint32_t>(found - program_.forms.begin());
  if (found == program_.forms.end()) {
    program_.forms.push_back(name);
    program_.shapes.emplace_back(); // it computes from registers, or moves in a frame
  }
  return at;
}

void Tracker::check(const Instruction& of, std::uint32_t operand, TrackedWidth width) {
  if (is_written(operand)) return;
  Instruction& in = emit("track.check", of, 0);
  if (operand == of.guard) in.guard = kNoOperand;
  in.r[0] = shadow(operand);
  in.extra = static_cast<std::uint32_t>(width);
}

void Tracker::apply(const Instruction& of, const std::string& name, std::uint32_t result,
                    std::initializer_list<std::uint32_t> sources, std::uint32_t widths) {
  Instruction& in = emit(name, of, kOneResult);
  in.r[0] = shadow(result);
  std::size_t at = 1;
  for (const std::uint32_t source : sources) in.r[at++] = source;
  in.extra = widths;
}

void Tracker::clear(const Instruction& of, std::uint32_t result, TrackedWidth width) {
  if (result != kNoOperand) apply(of, "track.any", result, {}, static_cast<std::uint32_t>(width));
}

void Tracker::before(const Instruction& in) {
  check(in, in.guard, TrackedWidth::kPredicate);
  const Shape shape = this->shape(in);
  for_each(shape, Shape::Role::kDecides,
           [&](std::size_t at, TrackedWidth width) { check(in, in.r[at], width); });
  switch (shape.memory) {
  case Shape::Memory::kLoad: return load_or_store(in, shape, "track.ld");
  case Shape::Memory::kFrameLoad: return frame(in, true, shape.count);
  case Shape::Memory::kFrameStore: return frame(in, false, shape.count);
  case Shape::Memory::kStore: return check_output(in, shape);
  default: break;
  }
  if (shape.kind == Shape::Kind::kCall) return call(in);
  if (shape.kind == Shape::Kind::kProduct) return product(in, shape.element);
  if (shape.between_lanes()) return lanes(in, shape);
  if (shape.count_of(Shape::Role::kResult) != 0) by_opcode(in, shape);
}

void Tracker::behind(const Instruction& in) {
  using Kind = Shape::Kind;
  const Shape shape = this->shape(in);
  if (shape.memory == Shape::Memory::kStore) load_or_store(in, shape, "track.st");
  if (!shape.between_lanes()) return;
  std::string on_shadows = form(in);
  if (shape.kind == Kind::kShuffle) on_shadows = "track." + on_shadows;
  if (shape.kind == Kind::kVote) on_shadows = "vote.any";
  if (shape.kind == Kind::kRedux) on_shadows = "redux.or.b32";
  Instruction& made = emit(on_shadows, in, kOneResult);
  made.r[0] = shadow(in.r[0]);
  if (shape.kind == Kind::kVote || shape.kind == Kind::kBallot) made.r[1] = shadow(in.r[1]);
  else made.r[2] = shadow(in.r[2]);
  if (shape.kind == Kind::kShuffle) {
    made.r[3] = temporary(0);
    made.r[4] = temporary(1);
    if (in.r[5] != kNoOperand) made.r[5] = temporary(2);
    if (in.r[1] != kNoOperand) clear(in, in.r[1], TrackedWidth::kPredicate);
  }
}

void track_registers(Program& program) {
  if (!program.unsupported.reason.empty()) return;
  program.is_tracked = true;
  const auto zero = static_cast<std::uint32_t>(program.constants.size());
  program.constants.resize(zero + std::size_t{16} * kLanes);
  for (const auto& code : program.functions) {
    if (code->unsupported.empty()) Tracker(program, *code, zero | kConstantOperand).run();
  }
}

} // namespace gmt::executor
