// SPDX-License-Identifier: Apache-2.0
// Which registers instructions read addresses from and write results to, see sass.h. Learnt from
// compiled and varied encodings under nvdisasm 13.5, of sm_80 to sm_90: bit 91 says that a uniform
// register takes part; of global and generic loads and stores bit 76 makes it a descriptor, which
// is not added, and bit 90 makes the general register one of 64 bits. Atomics have descriptors
// alone.
#include <algorithm>
#include <array>

#include "analyzer/device_code/sass.h"
#include "analyzer/device_code/sass_words.h"

namespace gmt {
namespace {

constexpr unsigned kFirst = 80, kLast = 90;

bool is_window(MemorySpace space) {
  return space == MemorySpace::kShared || space == MemorySpace::kLocal;
}

// Loads and stores carry their data's registers elsewhere than their uniform register.
unsigned uniform_field(MemoryOp op) { return op == MemoryOp::kLoad ? 32 : 64; }

void add_results(const SassWords& w, const Instruction& access, AddressOperand& operand) {
  const bool gives = access.op == MemoryOp::kLoad || access.op == MemoryOp::kAtomic;
  if (!gives) return;
  operand.result = w.field(16, 8);
  operand.results = access.bytes == 0 ? 4 : std::max<std::uint32_t>(1, access.bytes / 4);
}

// Of kinds that write no general register.
constexpr std::array<std::uint16_t, 11> kWithoutResult{0x00b, 0x00c, 0x02a, 0x118, 0x11a, 0x11d,
                                                       0x145, 0x146, 0x14d, 0x15d, 0x1af};
// MOV, SEL, IADD3, LEA, LOP3, SHF, FMUL, FADD, FFMA, IMAD, S2R: they write one register.
constexpr std::array<std::uint16_t, 11> kWithOneResult{0x002, 0x007, 0x010, 0x011, 0x012, 0x019,
                                                       0x020, 0x021, 0x023, 0x024, 0x119};
constexpr std::uint32_t kImadWide = 0x025; // two

std::uint32_t most_results(const SassWords& w) {
  constexpr std::uint32_t kLdc = 0x182, kLongest = 5; // LDC of at most 64 bits
  constexpr std::uint32_t kMost = 4;                  // a matrix instruction's
  const std::uint32_t size = w.field(73, 3);
  if (w.kind() == kLdc && size <= kLongest) return size == kLongest ? 2 : 1;
  if (w.kind() == kImadWide) return 2;
  return std::ranges::binary_search(kWithOneResult, w.kind()) ? 1 : kMost;
}

bool is_uniform(std::uint32_t opcode) {
  constexpr std::uint32_t kFirstUniform = 0x080, kLastUniform = 0x0bf, kR2ur = 0x1c2, kS2ur = 0x1c3;
  return (opcode >= kFirstUniform && opcode <= kLastUniform) || opcode == kR2ur || opcode == kS2ur;
}
// BSYNC, BREAK, CALL, BRA, WARPSYNC, BRX, JMP, JMX, RET
constexpr std::array<std::uint16_t, 10> kJumps{0x141, 0x142, 0x143, 0x144, 0x147,
                                               0x148, 0x149, 0x14a, 0x14c, 0x150};
static_assert(std::ranges::is_sorted(kWithoutResult) && std::ranges::is_sorted(kJumps) &&
              std::ranges::is_sorted(kWithOneResult));

} // namespace

std::optional<AddressOperand> address_operand(std::uint64_t low, std::uint64_t high,
                                              unsigned architecture) {
  const auto access = decode_instruction(low, high, architecture);
  if (!access || architecture < kFirst || architecture > kLast ||
      access->op == MemoryOp::kBulkCopy || access->address_register > AddressOperand::kZero)
    return std::nullopt;
  const SassWords w{low, high};
  AddressOperand operand;
  operand.base = access->address_register;
  operand.offset = access->address_offset;
  operand.predicate = w.field(12, 3);
  operand.is_negated = w.bit(15);
  const bool has_uniform = w.bit(91);
  if (is_window(access->space)) {
    if (w.field(78, 2) != 0) return std::nullopt; // the register is scaled, before sm_90
    if (has_uniform) operand.uniform = w.field(uniform_field(access->op), 6);
  } else if (access->op == MemoryOp::kCopy) {
    operand.is_wide = true;
    if (!w.bit(76) && has_uniform) return std::nullopt;
  } else if (access->op == MemoryOp::kLoad || access->op == MemoryOp::kStore) {
    operand.is_wide = has_uniform ? w.bit(90) : w.bit(72);
    if (has_uniform && !w.bit(76)) operand.uniform = w.field(uniform_field(access->op), 6);
  } else {
    operand.is_wide = has_uniform || w.bit(72);
  }
  add_results(w, *access, operand);
  return operand;
}

// BRA, BRX, JMP, JMX
bool is_branch(std::uint64_t low) {
  const std::uint32_t kind = SassWords{low, 0}.kind();
  return kind == 0x147 || kind == 0x149 || kind == 0x14a || kind == 0x14c;
}

RegisterEffect register_effect(std::uint64_t low, std::uint64_t high, unsigned architecture) {
  const SassWords w{low, high};
  constexpr std::uint32_t kTrap = 0x15c;
  RegisterEffect effect;
  effect.is_jump = std::ranges::binary_search(kJumps, w.kind());
  effect.is_trap = w.kind() == kTrap;
  if (effect.is_jump || effect.is_trap) return effect;
  if (const auto operand = address_operand(low, high, architecture)) {
    effect.result = operand->result;
    effect.results = operand->results;
    return effect;
  }
  effect.writes_uniform = is_uniform(w.kind());
  if (effect.writes_uniform || std::ranges::binary_search(kWithoutResult, w.kind())) return effect;
  effect.result = w.field(16, 8);
  effect.results = effect.result == AddressOperand::kZero ? 0 : most_results(w);
  return effect;
}

} // namespace gmt
