// SPDX-License-Identifier: Apache-2.0
// Which variable of shared, local or global memory an access belongs to, as the text shows it, and
// so what of the access is to be checked.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/flow/origins.h"
#include "ptx/syntax/ptx.h"
#include "rewriter/memory_instructions.h"

namespace gmt::rewriter {

struct DeclaredArray {
  ptx::Operand address; // kVariable or kLocal
  ptx::Space space = ptx::Space::kShared;
  std::uint64_t bytes = 0;
  bool is_dynamic = false; // the launch says how many bytes it has
  std::string_view name;
};

struct ArrayCheck {
  const DeclaredArray* array = nullptr; // null: none is known
  bool by_block = false;                // by the size of all shared memory of the block
  bool is_aligned = false;              // certainly
};

class DeclaredArrays {
public:
  // `knows_block`: no address may be that of another block's shared memory.
  DeclaredArrays(const ptx::Module& module, const ptx::Body& body,
                 const std::vector<ptx::Origin>& origins, bool knows_block);
  ArrayCheck check_of(const MemoryAccess& access);

private:
  const ptx::Variable* variable_of(const ptx::Operand& address) const;
  const DeclaredArray* array_of(const ptx::Operand& address);
  ptx::Operand address_of(const MemoryAccess& access) const;
  bool is_aligned(const MemoryAccess& access) const;

  const ptx::Module& module_;
  const ptx::Body& body_;
  const std::vector<ptx::Origin>& origins_;
  const bool knows_block_;
  std::vector<std::uint8_t> zero_bits_;
  std::map<std::pair<ptx::OperandKind, std::uint32_t>, DeclaredArray> arrays_;
};

} // namespace gmt::rewriter
