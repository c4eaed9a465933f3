// SPDX-License-Identifier: Apache-2.0
// Bounds of one function's instructions, see code_bound.h. Encodings were read off cuobjdump's
// listings of sm_70 to sm_100. Bits are numbered from the lowest of 128: 0..8 opcode, 81 the sign
// of a relative branch.
#include "interposer/coalescing/collector/sampling/code_bound.h"

#include <cstring>

namespace gmt::interposer::collector {

namespace {

constexpr std::size_t kInstructionBytes = 16;

struct Word {
  std::uint64_t low, high;
  unsigned opcode() const noexcept { return low & 0x1ff; }
  bool goes_back() const noexcept { return (high >> 17 & 1) != 0; }
  // Behind the end of a function stands a branch to itself. Before sm_90 bits 34 and up hold the
  // distance in units of 4 bytes, since then without its lowest 8 bits, which are bits 16 to 23.
  bool goes_to_itself() const noexcept {
    const std::uint64_t distance = low >> 34;
    return goes_back() &&
           (distance == 0x3ffffffc || (distance == 0x3fffffff && (low >> 16 & 0xff) == 0xfc));
  }
};

enum Opcode : unsigned {
  kCallAbsolute = 0x143,
  kCall = 0x144,
  kBranch = 0x147,
  kBranchIndirect = 0x149,
  kJump = 0x14a,
  kJumpIndirect = 0x14c,
  kBranchUniform = 0x158,
  kJumpUniform = 0x159,
  kSleep = 0x15d,
};

bool leaves(unsigned opcode) noexcept {
  return opcode == kCallAbsolute || opcode == kBranchIndirect || opcode == kJump ||
         opcode == kJumpIndirect || opcode == kBranchUniform || opcode == kJumpUniform ||
         opcode == kSleep;
}
bool is_atomic(unsigned opcode) noexcept {
  return (opcode >= 0x18a && opcode <= 0x18e) || (opcode >= 0x1a2 && opcode <= 0x1a9) ||
         opcode == 0x1be;
}
bool uses_memory(unsigned opcode) noexcept {
  return (opcode >= 0x17e && opcode <= 0x18e) || (opcode >= 0x1a2 && opcode <= 0x1be) ||
         opcode == 0x03b || opcode == 0x044;
}

} // namespace

CodeBound bound_of_code(const unsigned char* code, std::size_t bytes, IsRelocated is_relocated,
                        void* data) noexcept {
  // Accesses that one with a single address for all threads amounts to
  constexpr unsigned kSlowestAtomic = 16;
  std::uint64_t instructions = 0, accesses = 0, calls = 0;
  for (std::size_t at = 0; at + kInstructionBytes <= bytes;
       at += kInstructionBytes, ++instructions) {
    Word word;
    std::memcpy(&word, code + at, sizeof word);
    const unsigned opcode = word.opcode();
    if (leaves(opcode)) return {};
    if (opcode == kBranch && word.goes_back() && !word.goes_to_itself()) return {};
    if (opcode == kCall &&
        (word.goes_back() || (is_relocated != nullptr && is_relocated(data, at))))
      return {};
    calls += opcode == kCall; // of a part of this function that stands behind its end
    if (uses_memory(opcode)) accesses += is_atomic(opcode) ? kSlowestAtomic : 1;
  }
  constexpr std::uint64_t kMost = UINT32_MAX;
  instructions *= 1 + calls;
  accesses *= 1 + calls;
  if (instructions > kMost || accesses > kMost) return {};
  return {static_cast<std::uint32_t>(instructions), static_cast<std::uint32_t>(accesses)};
}

// A warp's access that is measured takes the whole device 2 to 4 ns (an H200), a lone warp some
// microseconds.
std::uint64_t CodeBound::cost(std::uint64_t warps) const noexcept {
  constexpr std::uint64_t kAccess = 8, kInstruction = 1, kAlone = 20'000, kLaunch = 1'000'000;
  return kLaunch + accesses * (warps * kAccess + kAlone) +
         instructions * (warps * kInstruction / 64 + 1'000);
}

} // namespace gmt::interposer::collector
