// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/program/pointers.h"

#include "ptx/flow/origins.h"
#include "ptx/opcodes/opcodes.h"

#include <algorithm>
#include <vector>

namespace gmt::executor {
namespace {

using ptx::MemoryUse;
using ptx::Origin;

constexpr std::uint32_t kPointerBytes = 8;

bool is_device(ptx::Space space) {
  return space == ptx::Space::kNone || space == ptx::Space::kGlobal;
}

// The register that holds the address of an operand, without its offset; kNone: it is another form.
std::uint32_t base_of(const ptx::Body& body, const ptx::Operand& operand) {
  if (operand.kind != ptx::OperandKind::kAddress || operand.count != 1) return ptx::kNone;
  const ptx::Operand& base = *body.parts(operand);
  return base.kind == ptx::OperandKind::kRegister ? base.id : ptx::kNone;
}

// Calls visit(the instruction's index, the base register, what is done there) of each use of memory
// of the device.
template <class Visit>
void for_each_use(const ptx::Body& body, Visit visit) {
  std::vector<ptx::OperandUse> uses;
  for (std::uint32_t i = 0; i < body.instructions.size(); ++i) {
    ptx::uses_of(body, body.instructions[i], uses);
    for (std::size_t at = 0; at < uses.size(); ++at) {
      const ptx::OperandUse& use = uses[at];
      if (use.memory == MemoryUse::kNoAddress || use.memory == MemoryUse::kNotAccessed) continue;
      if (is_device(use.space))
        visit(i, base_of(body, body.operand(body.instructions[i], at)), use.memory);
    }
  }
}

class Follower {
public:
  explicit Follower(Program& program)
      : program_(program), kernel_(*program.functions.front()),
        function_(*program.linked->functions()[kernel_.linked].function),
        origins_(ptx::origins_of(function_, *kernel_.body)) {
    lay_out_parameters(function_.parameters, &offsets_);
  }

  void run() {
    through_.assign(kernel_.body->instructions.size(), 0);
    bool is_known = true;
    for_each_use(*kernel_.body, [&](std::uint32_t i, std::uint32_t base, MemoryUse memory) {
      const std::uint32_t offset = parameter_of(base);
      if (memory == MemoryUse::kRead) through_[i] = number_of(offset);
      else if (offset == ptx::kNone) is_known = false;
      else add(program_.written_through, offset);
    });
    for (std::size_t f = 1; f < program_.functions.size(); ++f) {
      for_each_use(*program_.functions[f]->body,
                   [&](std::uint32_t, std::uint32_t, MemoryUse memory) {
                     is_known = is_known && memory == MemoryUse::kRead;
                   });
    }
    program_.writes_elsewhere = !is_known;
    if (!is_known) return;
    for (Instruction& in : kernel_.instructions) {
      const bool is_load = program_.shapes[in.form].memory == Shape::Memory::kLoad;
      if (is_load && in.source < through_.size()) in.extra |= through_[in.source] << kLoadedThrough;
    }
  }

private:
  static std::size_t add(std::vector<std::uint32_t>& all, std::uint32_t offset) {
    const auto known = std::ranges::find(all, offset);
    if (known == all.end()) all.push_back(offset);
    return static_cast<std::size_t>(std::ranges::find(all, offset) - all.begin());
  }

  // The place among the kernel's parameters of the pointer that the register comes from.
  std::uint32_t parameter_of(std::uint32_t base) const {
    if (base == ptx::kNone) return ptx::kNone;
    const Origin& origin = origins_[base];
    if (origin.kind != ptx::OriginKind::kParameter || origin.offset < 0) return ptx::kNone;
    const std::uint64_t offset =
      offsets_[origin.parameter] + static_cast<std::uint64_t>(origin.offset);
    const std::uint64_t end =
      offsets_[origin.parameter] + function_.parameters[origin.parameter].size;
    return offset + kPointerBytes <= end ? static_cast<std::uint32_t>(offset) : ptx::kNone;
  }

  std::uint32_t number_of(std::uint32_t offset) {
    if (offset == ptx::kNone) return 0;
    auto& all = program_.loaded_through;
    const bool is_full = all.size() == kMostLoadedThrough;
    if (is_full && std::ranges::find(all, offset) == all.end()) return 0;
    return static_cast<std::uint32_t>(add(all, offset)) + 1;
  }

  Program& program_;
  Code& kernel_;
  const ptx::Function& function_;
  const std::vector<Origin> origins_;
  std::vector<std::uint32_t> offsets_; // of parameters
  std::vector<std::uint32_t> through_; // of each instruction: number_of() its pointer
};

} // namespace

void follow_pointers(Program& program) { Follower(program).run(); }

} // namespace gmt::executor
