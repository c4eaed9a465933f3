// SPDX-License-Identifier: Apache-2.0
#include "rewriter/declared_arrays.h"

#include <algorithm>
#include <bit>

#include "ptx/flow/zero_bits.h"

namespace gmt::rewriter {

using ptx::Operand;
using ptx::OperandKind;
using ptx::OriginKind;
using ptx::Space;

DeclaredArrays::DeclaredArrays(const ptx::Module& module, const ptx::Body& body,
                               const std::vector<ptx::Origin>& origins, bool knows_block)
    : module_(module), body_(body), origins_(origins), knows_block_(knows_block),
      zero_bits_(ptx::zero_bits_of(module, body)) {}

// The variable that the address comes from, or nothing.
Operand DeclaredArrays::address_of(const MemoryAccess& access) const {
  Operand address;
  if (access.base == ptx::kNone) {
    address.kind = access.variable.kind;
    address.id = access.variable.id;
  } else if (origins_[access.base].kind == OriginKind::kVariable) {
    const ptx::Origin& origin = origins_[access.base];
    address.kind = origin.is_of_body ? OperandKind::kLocal : OperandKind::kVariable;
    address.id = origin.variable;
  }
  return address;
}

const ptx::Variable* DeclaredArrays::variable_of(const Operand& address) const {
  if (address.kind == OperandKind::kVariable) return &module_.variables()[address.id];
  return address.kind == OperandKind::kLocal ? &body_.variables[address.id] : nullptr;
}

const DeclaredArray* DeclaredArrays::array_of(const Operand& address) {
  const ptx::Variable& variable = *variable_of(address);
  const bool is_bounded = variable.space == Space::kShared || variable.space == Space::kLocal ||
                          (variable.space == Space::kGlobal && !variable.managed);
  if (!is_bounded) return nullptr;
  const bool is_dynamic =
    variable.space == Space::kShared && (variable.unsized || variable.size == 0);
  // Another file says how large it is.
  if (variable.linkage == ptx::Linkage::kExtern && !is_dynamic) return nullptr;
  const bool is_small = variable.space != Space::kGlobal;
  if (variable.size > std::uint64_t{1} << 30 || (variable.size == 0 && !is_small)) return nullptr;
  const DeclaredArray array{address, variable.space, variable.size, is_dynamic, variable.name};
  return &arrays_.try_emplace({address.kind, address.id}, array).first->second;
}

bool DeclaredArrays::is_aligned(const MemoryAccess& access) const {
  if (access.offset % access.bytes != 0) return false;
  const auto wanted = static_cast<unsigned>(std::countr_zero(access.bytes));
  if (access.base != ptx::kNone) return zero_bits_[access.base] >= wanted;
  const std::uint32_t alignment = variable_of(access.variable)->alignment;
  return alignment % access.bytes == 0;
}

ArrayCheck DeclaredArrays::check_of(const MemoryAccess& access) {
  ArrayCheck check;
  const Operand address = address_of(access);
  const ptx::Variable* variable = variable_of(address);
  if (variable != nullptr && (access.is_generic() || access.space == variable->space))
    check.array = array_of(address);
  const bool is_in_other_space =
    variable != nullptr ||
    (access.base != ptx::kNone && origins_[access.base].kind == OriginKind::kParameter);
  const bool may_be_shared =
    access.space == Space::kShared || (access.is_generic() && !is_in_other_space);
  check.by_block = check.array == nullptr && knows_block_ && may_be_shared;
  check.is_aligned = is_aligned(access);
  const bool is_constant = access.base == ptx::kNone && check.array != nullptr;
  if (is_constant && !check.array->is_dynamic && check.is_aligned && access.offset >= 0 &&
      static_cast<std::uint64_t>(access.offset) + access.bytes <= check.array->bytes)
    check = {};
  return check;
}

} // namespace gmt::rewriter
