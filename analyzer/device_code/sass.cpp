// SPDX-License-Identifier: Apache-2.0
// The table of opcodes that access memory, see sass.h. Bits are numbered from the lowest of 128:
// 0..8 opcode, 24..31 address register (255 is RZ), 40..63 the offset unless a row says
// otherwise, 73.. the type. Later architectures added opcodes and moved a few fields; no opcode has
// come back with another meaning.
#include "analyzer/device_code/sass.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gmt {
namespace {

enum class Type : std::uint8_t {
  kAccess,  // 3 bits: 8 to 128 bits
  kWide,    // always 256 bits
  kInteger, // 3 bits of atomics; before sm_90 floats too
  kFloat,   // 4 bits and bit 87 of atomics since sm_90
  kMatrix,  // 2 bits from 72: 1, 2 or 4 registers of a warp's matrix; of 16-bit elements only
  kCopy,    // kAccess before sm_100, then 2 bits from 74: 32 to 128 bits
  kBarrier, // 64 bits: an mbarrier
  kUnknown, // moved in bulk
};
enum class Offset : std::uint8_t {
  kUsual,
  kGeneric, // 32 bits from 32 if there is no uniform register and no descriptor
  // With a descriptor or uniform register 23 bits since sm_100: bit 63 is the register's width
  kAtomic,
  kCopy,      // 12 bits from 32: of the global side
  kWideLoad,  // 17 bits, in units of 32 bytes
  kWideStore, // 19 bits, in units of 32 bytes
  kNone,      // addresses in uniform registers only
};
struct Opcode {
  std::uint16_t code;
  MemoryOp op;
  MemorySpace space;
  Type type;
  Offset offset;
};

using enum MemoryOp;
using enum MemorySpace;

// Sorted by code: the lower 9 bits of an opcode. The upper 3 say what kinds of operands follow,
// which is given by other bits again.
constexpr std::array kOpcodes{
  Opcode{0x03b, kLoad, kShared, Type::kMatrix, Offset::kUsual},       // LDSM
  Opcode{0x044, kStore, kShared, Type::kMatrix, Offset::kUsual},      // STSM
  Opcode{0x17e, kLoad, kGlobal, Type::kWide, Offset::kWideLoad},      // LDG.256
  Opcode{0x17f, kStore, kGlobal, Type::kWide, Offset::kWideStore},    // STG.256
  Opcode{0x180, kLoad, kGeneric, Type::kAccess, Offset::kGeneric},    // LD
  Opcode{0x181, kLoad, kGlobal, Type::kAccess, Offset::kUsual},       // LDG
  Opcode{0x183, kLoad, kLocal, Type::kAccess, Offset::kUsual},        // LDL
  Opcode{0x184, kLoad, kShared, Type::kAccess, Offset::kUsual},       // LDS
  Opcode{0x185, kStore, kGeneric, Type::kAccess, Offset::kGeneric},   // ST
  Opcode{0x186, kStore, kGlobal, Type::kAccess, Offset::kUsual},      // STG
  Opcode{0x187, kStore, kLocal, Type::kAccess, Offset::kUsual},       // STL
  Opcode{0x188, kStore, kShared, Type::kAccess, Offset::kUsual},      // STS
  Opcode{0x18a, kAtomic, kGeneric, Type::kInteger, Offset::kAtomic},  // ATOM
  Opcode{0x18b, kAtomic, kGeneric, Type::kInteger, Offset::kUsual},   // ATOM.CAS
  Opcode{0x18c, kAtomic, kShared, Type::kInteger, Offset::kUsual},    // ATOMS
  Opcode{0x18d, kAtomic, kShared, Type::kInteger, Offset::kUsual},    // ATOMS.CAS
  Opcode{0x18e, kReduction, kGlobal, Type::kInteger, Offset::kUsual}, // RED, REDG
  Opcode{0x1a2, kAtomic, kGeneric, Type::kFloat, Offset::kAtomic},    // ATOM
  Opcode{0x1a3, kAtomic, kGlobal, Type::kFloat, Offset::kAtomic},     // ATOMG
  Opcode{0x1a5, kLoad, kGlobal, Type::kFloat, Offset::kUsual}, // LDGMC: reduced from several GPUs
  Opcode{0x1a6, kReduction, kGlobal, Type::kFloat, Offset::kUsual},   // REDG
  Opcode{0x1a7, kAtomic, kShared, Type::kBarrier, Offset::kUsual},    // SYNCS
  Opcode{0x1a8, kAtomic, kGlobal, Type::kInteger, Offset::kAtomic},   // ATOMG
  Opcode{0x1a9, kAtomic, kGlobal, Type::kInteger, Offset::kUsual},    // ATOMG.CAS
  Opcode{0x1ae, kCopy, kGlobal, Type::kCopy, Offset::kCopy},          // LDGSTS
  Opcode{0x1b2, kAtomic, kShared, Type::kBarrier, Offset::kNone},     // SYNCS.EXCH
  Opcode{0x1b4, kBulkCopy, kGlobal, Type::kUnknown, Offset::kNone},   // UTMALDG
  Opcode{0x1b5, kBulkCopy, kGlobal, Type::kUnknown, Offset::kNone},   // UTMASTG
  Opcode{0x1b6, kBulkCopy, kGlobal, Type::kUnknown, Offset::kNone},   // UTMAREDG
  Opcode{0x1ba, kBulkCopy, kGlobal, Type::kUnknown, Offset::kNone},   // UBLKCP
  Opcode{0x1bb, kBulkCopy, kGlobal, Type::kUnknown, Offset::kNone},   // UBLKRED
  Opcode{0x1bd, kStore, kShared, Type::kAccess, Offset::kUsual},      // STAS: of the cluster
  Opcode{0x1be, kReduction, kShared, Type::kInteger, Offset::kUsual}, // REDAS: of the cluster
};
static_assert(std::ranges::is_sorted(kOpcodes, {}, &Opcode::code));

std::uint32_t bytes_of(Type type, std::uint64_t high, unsigned architecture) {
  using Sizes = std::array<std::uint8_t, 8>;
  static constexpr Sizes kPlain{1, 1, 2, 2, 4, 8, 16, 0};
  static constexpr Sizes kOldInteger{4, 4, 8, 4, 4, 8, 8, 0}, kInteger{4, 4, 8, 8, 16, 0, 0, 0};
  static constexpr std::array<std::uint8_t, 32> kFloat{4, 8, 16, 4, 8, 16, 0, 0,  0, 4, 8, 16,
                                                       4, 8, 16, 8, 0, 4,  8, 16, 4, 8, 16};
  static constexpr std::array<std::uint8_t, 4> kMatrix{4, 8, 16, 0}, kCopied{4, 8, 16, 0};
  const auto field = [high](unsigned from, unsigned bits) { // numbered in the whole instruction
    return static_cast<std::size_t>(high >> (from - 64) & ((1u << bits) - 1));
  };
  switch (type) {
  case Type::kAccess: return kPlain[field(73, 3)];
  case Type::kWide: return 32;
  case Type::kInteger:
    return architecture < 90 ? kOldInteger[field(73, 3)] : kInteger[field(73, 3)];
  case Type::kFloat: return kFloat[field(73, 4) | field(87, 1) << 4];
  case Type::kMatrix: return field(75, 3) == 0 && field(79, 1) == 0 ? kMatrix[field(72, 2)] : 0;
  case Type::kCopy: return architecture < 100 ? kPlain[field(73, 3)] : kCopied[field(74, 2)];
  case Type::kBarrier: return 8;
  case Type::kUnknown: return 0;
  }
  return 0;
}

std::int32_t offset_of(Offset offset, std::uint64_t low, std::uint64_t high,
                       unsigned architecture) {
  const auto field = [low](unsigned from, unsigned bits) { // signed
    return static_cast<std::int32_t>(static_cast<std::int64_t>(low << (64 - from - bits)) >>
                                     (64 - bits));
  };
  const bool uniform = (high >> (91 - 64) & 1) != 0; // takes a uniform register or a descriptor
  switch (offset) {
  case Offset::kUsual: return field(40, 24);
  case Offset::kGeneric: return uniform ? field(40, 24) : field(32, 32);
  case Offset::kAtomic: return architecture < 100 || !uniform ? field(40, 24) : field(40, 23);
  case Offset::kCopy: return field(32, 12);
  case Offset::kWideLoad: return field(40, 17) * 32;
  case Offset::kWideStore: return field(40, 19) * 32;
  case Offset::kNone: return 0;
  }
  return 0;
}

} // namespace

std::optional<Instruction> decode_instruction(std::uint64_t low, std::uint64_t high,
                                              unsigned architecture) {
  const auto code = static_cast<std::uint16_t>(low & 0x1ff);
  const auto row = std::ranges::lower_bound(kOpcodes, code, {}, &Opcode::code);
  if (row == kOpcodes.end() || row->code != code) return std::nullopt;
  Instruction result;
  result.op = row->op;
  result.space = row->space;
  result.bytes = bytes_of(row->type, high, architecture);
  if (row->offset != Offset::kNone)
    result.address_register = static_cast<std::uint32_t>(low >> 24 & 0xff);
  result.address_offset = offset_of(row->offset, low, high, architecture);
  return result;
}

std::vector<Instruction> decode_function(std::span<const char> code, unsigned architecture) {
  std::vector<Instruction> result;
  for (std::size_t at = 0; code.size() - at >= kInstructionBytes; at += kInstructionBytes) {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), code.data() + at, sizeof words);
    std::optional<Instruction> instruction = decode_instruction(words[0], words[1], architecture);
    if (!instruction) continue;
    instruction->offset = static_cast<std::uint32_t>(at);
    result.push_back(std::move(*instruction));
  }
  return result;
}

} // namespace gmt
