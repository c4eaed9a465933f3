// SPDX-License-Identifier: Apache-2.0
// What the rewriter knows of opcodes: which instructions access memory and where, which may be
// moved, and between which no code may be copied. All that is not known is a boundary.
#pragma once

#include <cstdint>

#include "ptx/syntax/ptx.h"

namespace gmt::rewriter {

enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic, kReduction };

// An access of global, shared or local memory or by a generic address, of one thread.
struct MemoryAccess {
  AccessKind kind = AccessKind::kLoad;
  ptx::Space space = ptx::Space::kGlobal; // kNone: generic
  bool is_ordered = false;                // volatile, acquire, ...: other accesses must not pass it
  std::uint32_t bytes = 0;
  std::uint32_t base = ptx::kNone; // a register; kNone: `variable`
  ptx::Operand variable;           // kVariable or kLocal, of shared and local memory alone
  std::int64_t offset = 0;
  // A register; the access is made of all `bytes` only if it is no less. kNone: it always is.
  std::uint32_t size = ptx::kNone;

  bool is_generic() const { return space == ptx::Space::kNone; }
};

enum class Role : std::uint8_t {
  kPure,     // computes registers of registers: may stand earlier, if what it reads is there
  kLoad,     // of shared, local or constant memory: may stand before other loads
  kFixed,    // stays where it is, and may be copied
  kAccess,   // is checked
  kTogether, // lanes compute registers of registers together: stays where it is, one of it
  kBoundary, // all else: calls, barriers
};

struct Classified {
  Role role = Role::kBoundary;
  MemoryAccess access;                   // of kAccess
  Role role_unchecked = Role::kBoundary; // of kAccess in shared or local memory, if it needs none
};

Classified classify(const ptx::Body& body, const ptx::Instruction& instruction);

// An instruction that accesses memory and is none of kAccess, by what it misses; empty: it is none.
std::string_view why_unchecked(const ptx::Body& body, const ptx::Instruction& instruction);

// Whether the instruction may write memory of the device in a way that classify() does not show.
// Calls are left to others.
bool may_write_unseen(const ptx::Body& body, const ptx::Instruction& instruction);

} // namespace gmt::rewriter
