// SPDX-License-Identifier: Apache-2.0
// An instruction of PTX may be several of the executor; at most one of them accesses memory for it,
// but for products of matrices, which are left out, and atomics of vectors.
#include "simulated_cuda/executor/machine/count_traffic.h"

#include "simulated_cuda/executor/executor.h"
#include "simulated_cuda/executor/machine/access.h"
#include "simulated_cuda/executor/machine/block.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

namespace gmt::executor {
namespace {

// What an instruction of PTX does to memory.
struct Use {
  Access access = Access::kUnknown;
  Together together = Together::kLoad;
  std::uint32_t rows = kLanes; // lanes whose addresses count
};

std::optional<Use> use_of(const ptx::Mnemonic& mnemonic) {
  const std::string_view opcode = mnemonic.opcode;
  if (opcode == "ld" || opcode == "ldu") return Use{Access::kLoad, Together::kLoad};
  if (opcode == "st") return Use{Access::kStore, Together::kStore};
  if (opcode == "atom") return Use{Access::kAtomic, Together::kAtomic};
  if (opcode == "red" && !mnemonic.has("async")) return Use{Access::kReduction, Together::kAtomic};
  if (opcode == "cp" && mnemonic.has("async")) return Use{Access::kCopy, Together::kLoad};
  if (opcode != "ldmatrix" && opcode != "stmatrix") return std::nullopt;
  const bool loads = opcode == "ldmatrix";
  std::uint32_t rows = 8;
  if (mnemonic.has("x2")) rows = 16;
  if (mnemonic.has("x4")) rows = 32;
  return Use{loads ? Access::kLoad : Access::kStore, Together::kRows, rows};
}

// Of a form such as "atom.add.f16x2".
std::uint32_t bytes_in_form(std::string_view form) {
  const std::string_view type = form.substr(form.rfind('.') + 1);
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  unsigned bits = 0;
  std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  return bits / 8 * (type.ends_with("x2") ? 2 : 1);
}

Space space_in(ptx::Space space) {
  switch (space) {
  case ptx::Space::kGlobal: return Space::kGlobal;
  case ptx::Space::kShared: return Space::kShared;
  case ptx::Space::kNone: return Space::kGeneric;
  default: return Space::kUnknown; // nothing is counted there
  }
}

// Null operands are none. Slots and what the code says are of the instruction in the text.
std::optional<CountedAccess> access_of(const Program& program, const Code& code,
                                       const Instruction& in) {
  if (in.source == ptx::kNone || code.body == nullptr) return std::nullopt;
  const std::optional<Use> use = use_of(code.body->mnemonic(program.source_of(code, in)));
  const std::string_view form = program.forms[in.form];
  const Shape& shape = program.shapes[in.form];
  if (!use) return std::nullopt;
  CountedAccess access;
  access.together = use->together;
  access.access = use->access;
  access.rows = use->rows == kLanes ? ~0u : (1u << use->rows) - 1;
  access.offset = in.immediate;
  if (use->access == Access::kCopy) {
    if (form != "cp.async") return std::nullopt;
    access.address = in.r[1];
    access.to = in.r[0];
    access.bytes = in.extra;
    access.space = Space::kGlobal;
    access.offset = 0;
    return access;
  }
  if (shape.memory == Shape::Memory::kAtomic) {
    if ((in.extra >> 16) != 0) return std::nullopt; // a later element of a vector
    access.address = in.r[1];
    const std::uint32_t count = std::max(in.extra >> 8 & 0xff, 1u);
    access.bytes = bytes_in_form(form) * count;
    access.space = space_in(static_cast<ptx::Space>(in.extra & 0x3f));
  } else if (shape.memory == Shape::Memory::kLoad || shape.memory == Shape::Memory::kStore) {
    access.address = in.r[4];
    access.is_narrow = shape.is_narrow;
    access.bytes = std::uint32_t{shape.element} * shape.count;
    access.space = space_in(shape.space);
  } else {
    return std::nullopt;
  }
  const bool is_sound = access.bytes != 0 && access.bytes <= 16;
  if (!is_sound || access.space == Space::kUnknown) return std::nullopt;
  return access;
}

const void* operand_at(const Warp& w, std::uint32_t operand) {
  return w.base[operand >> 31] + (operand & 0x7fffffffu);
}

void read_addresses(const Warp& w, std::uint32_t operand, bool is_narrow, std::int64_t offset,
                    std::uint64_t (&addresses)[kLanes]) {
  const void* from = operand_at(w, operand);
  for (std::uint32_t l = 0; l < kLanes; ++l) {
    if (is_narrow)
      addresses[l] = static_cast<std::uint32_t>(static_cast<const std::uint32_t*>(from)[l] +
                                                static_cast<std::uint32_t>(offset));
    else
      addresses[l] =
        static_cast<const std::uint64_t*>(from)[l] + static_cast<std::uint64_t>(offset);
  }
}

// Where this thread counted last.
struct Recent {
  std::uint64_t counter = 0; // its number
  const Code* code = nullptr;
  TrafficCounter::Where where;
};
thread_local Recent recent;

const TrafficCounter::Where& counting_at(const Warp& w) {
  TrafficCounter& counter = *w.grid->launch->counter;
  if (recent.counter != counter.number() || recent.code != w.frame->code)
    recent = {counter.number(), w.frame->code, counter.find(w.frame->code)};
  return recent.where;
}

const Instruction* count_access(Warp& w, const Instruction* in) {
  const TrafficCounter::Where& where = counting_at(w);
  const auto index = static_cast<std::size_t>(in - w.frame->code->instructions.data());
  const CountedAccess& access = (*where.accesses)[index];
  const std::uint32_t mask = w.mask & access.rows;
  std::uint64_t addresses[kLanes];
  read_addresses(w, access.address, access.is_narrow, access.offset, addresses);
  const auto first = addresses[std::countr_zero(w.mask)];
  std::uint64_t resolved = first;
  const Space space =
    access.space == Space::kGeneric ? resolve(Space::kGeneric, &resolved) : access.space;
  if (space == Space::kLocal || mask == 0) return access.handler(w, in);
  TrafficCounts& counts = (*where.sums)[access.slot];
  counts.executions += 1;
  counts.threads += static_cast<std::uint64_t>(std::popcount(w.mask));
  if (space == Space::kShared) {
    for (std::uint64_t& address : addresses) address -= first - resolved;
    count_wavefronts(addresses, mask, access.bytes, access.together, counts);
  } else {
    count_sectors(addresses, mask, access.bytes, counts);
  }
  if (access.to != kNoOperand) {
    std::uint64_t to[kLanes];
    read_addresses(w, access.to, false, 0, to);
    count_copy(addresses, to, mask, access.bytes, counts);
  }
  return access.handler(w, in);
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

} // namespace

TrafficPlan plan_traffic(Program& program) {
  TrafficPlan plan;
  for (const auto& code : program.functions) {
    std::vector<CountedAccess> accesses(code->instructions.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      Instruction& in = code->instructions[i];
      const std::optional<CountedAccess> access = access_of(program, *code, in);
      if (!access || in.go == nullptr) continue;
      accesses[i] = *access;
      accesses[i].slot = plan.slots + in.source;
      Handler& handler = in.guarded != nullptr ? in.guarded : in.go;
      accesses[i].handler = handler;
      handler = count_access;
    }
    if (code->body != nullptr)
      plan.slots += static_cast<std::uint32_t>(code->body->instructions.size());
    plan.accesses.emplace(code.get(), std::move(accesses));
  }
  return plan;
}

TrafficCounter::TrafficCounter() : number_(next_number()) {}

void TrafficCounter::add(const TrafficPlan& plan) {
  const std::lock_guard lock(mutex_);
  plans_.push_back(&plan);
  slots_ = std::max(slots_, plan.slots);
}

TrafficCounter::Where TrafficCounter::find(const Code* code) {
  const std::lock_guard lock(mutex_);
  if (recent.counter != number_) sums_.emplace_back(slots_);
  Where where;
  where.sums = recent.counter != number_ ? &sums_.back() : recent.where.sums;
  for (const TrafficPlan* plan : plans_) {
    const auto found = plan->accesses.find(code);
    if (found != plan->accesses.end()) where.accesses = &found->second;
  }
  return where;
}

void TrafficCounter::collect(const Program& program, const TrafficPlan& plan,
                             Traffic& traffic) const {
  for (const auto& code : program.functions) {
    FunctionTraffic& function = traffic.functions.emplace_back();
    function.name = code->name;
    function.is_kernel = traffic.functions.size() == 1;
    std::map<std::uint32_t, std::uint32_t> bases; // by the operand
    const std::vector<CountedAccess>& accesses = plan.accesses.at(code.get());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const CountedAccess& access = accesses[i];
      if (access.handler == nullptr) continue;
      InstructionTraffic& one = function.instructions.emplace_back();
      one.number = code->instructions[i].source;
      one.access = access.access;
      one.space = access.space;
      one.bytes = access.bytes;
      const auto base = bases.try_emplace(access.address, bases.size()).first->second;
      one.base = std::min(base, InstructionTraffic::kNoBase);
      one.offset = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(access.offset, std::numeric_limits<std::int32_t>::min(),
                                 std::numeric_limits<std::int32_t>::max()));
      for (const std::vector<TrafficCounts>& sums : sums_) one.counts.add(sums[access.slot]);
    }
    std::ranges::sort(function.instructions, {}, &InstructionTraffic::number);
  }
}

} // namespace gmt::executor
