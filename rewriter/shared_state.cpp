// SPDX-License-Identifier: Apache-2.0
// Whether shared memory can be followed: all that writes it has to be seen, and there must be room.
#include "rewriter/shared_state.h"

#include <algorithm>
#include <set>

#include "ptx/flow/flow.h"
#include "ptx/opcodes/opcodes.h"
#include "rewriter/functions.h"
#include "rewriter/memory_instructions.h"

namespace gmt::rewriter {
namespace {

using ptx::OperandKind;
using ptx::Space;

constexpr std::uint64_t kMostStatic = 48 << 10; // that a kernel may declare
constexpr std::uint64_t kOfSystem = 1 << 10;    // in front of all on newer devices
constexpr std::uint64_t kOfDynamic = 16 << 10;  // that is followed of what the launch gives

bool may_write_shared_unseen(const ptx::Module& module, const ptx::Body& body,
                             const ptx::Instruction& instruction) {
  const ptx::Mnemonic& mnemonic = body.mnemonic(instruction);
  const std::string_view opcode = mnemonic.opcode;
  if (opcode == "call") {
    const ptx::Operand* target = ptx::call_of(body, instruction).target;
    if (target == nullptr || target->kind != OperandKind::kFunction) return true;
    return writes_elsewhere(module, target->id);
  }
  static constexpr std::string_view kOthers[] = {"cp",      "stmatrix",  "mbarrier",
                                                 "tcgen05", "tensormap", "multimem"};
  if (std::ranges::find(kOthers, opcode) != std::end(kOthers)) return true;
  if (opcode == "wmma") return mnemonic.has("store");
  const bool is_store = opcode == "st" || opcode == "atom" || opcode == "red";
  if (!is_store) return false;
  if (mnemonic.has("async") || mnemonic.has("bulk")) return true;
  const Space space = ptx::space_of(mnemonic);
  return (space == Space::kShared || space == Space::kNone) &&
         classify(body, instruction).role != Role::kAccess;
}

struct Shared {
  std::set<std::uint32_t> used; // variables of the module
  std::uint64_t own_bytes = 0;  // of variables of the body

  void add(const ptx::Module& module, const ptx::Body& body) {
    for (const ptx::Variable& variable : body.variables) {
      if (variable.space == Space::kShared) own_bytes += variable.size + 16;
    }
    for (const ptx::Operand& operand : body.operands) {
      if (operand.kind == OperandKind::kVariable &&
          module.variables()[operand.id].space == Space::kShared)
        used.insert(operand.id);
    }
  }
  std::uint64_t bytes(const ptx::Module& module) const {
    std::uint64_t sum = own_bytes;
    for (const std::uint32_t id : used)
      sum +=
        module.variables()[id].size + std::max<std::uint64_t>(16, module.variables()[id].alignment);
    return sum;
  }
};

} // namespace

bool uses_shared(const ptx::Module& module, const ptx::Body& body) {
  Shared shared;
  shared.add(module, body);
  return shared.bytes(module) != 0;
}

SharedState shared_state_of(const ptx::Module& module) {
  if (module.text().find(".shared") == std::string_view::npos) return {};
  const auto has_word = [&module](std::string_view word) {
    return module.text().find(word) != std::string_view::npos;
  };
  if (has_word("mapa") || has_word("shared::cluster"))
    return {0, "shared memory that nothing wrote, as other blocks may write it"};
  Shared of_functions;
  std::uint64_t most = 0;
  for (const bool are_entries : {false, true}) {
    for (const ptx::Function& function : module.functions()) {
      if (function.is_entry != are_entries || !function.has_body) continue;
      const ptx::Body body = ptx::parse_body(module, function);
      for (const ptx::Instruction& instruction : body.instructions) {
        if (may_write_shared_unseen(module, body, instruction))
          return {0, "shared memory that nothing wrote, as copies, barriers' objects or functions "
                     "that are not known may write it"};
      }
      Shared all = of_functions;
      all.add(module, body);
      if (!are_entries) of_functions = all;
      most = std::max(most, all.bytes(module));
    }
  }
  const bool has_dynamic = std::ranges::any_of(module.variables(), [](const ptx::Variable& each) {
    return each.space == Space::kShared && (each.unsized || each.size == 0);
  });
  const std::uint64_t others = kOfSystem + most + (has_dynamic ? kOfDynamic : 0) + 256;
  const SharedState state{static_cast<std::uint32_t>((others + 144) * 4 / 3 / 16 * 16 + 16), {}};
  if (most + state.bytes() > kMostStatic)
    return {0, "shared memory that nothing wrote, as there is no room for what is known of it"};
  return state;
}

} // namespace gmt::rewriter
