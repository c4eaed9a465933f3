// SPDX-License-Identifier: Apache-2.0
// Decodes the machine code of a kernel (SASS, sm_70 to sm_12x) as far as memory goes: which
// instructions access memory, how, and from which register they take the address.
//
// NVIDIA does not document the encoding. What is here was learnt from what nvdisasm 13.5 prints for
// compiled and for varied encodings, and is kept as data: one row for an opcode. Constant memory,
// textures, surfaces, tensor memory, prefetches and cache control are no accesses here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/device_code/instruction.h"

namespace gmt {

inline constexpr std::size_t kInstructionBytes = 16;

// `architecture` is major * 10 + minor. Nothing if the instruction does not access memory. Offset
// and lines are left empty.
std::optional<Instruction> decode_instruction(std::uint64_t low, std::uint64_t high,
                                              unsigned architecture);

// How an access makes its address: general register (two of them where it is wide), plus a uniform
// register, plus the offset. And which registers it writes, and when it is executed.
struct AddressOperand {
  static constexpr std::uint32_t kZero = 255; // RZ
  std::uint32_t base = kZero;
  bool is_wide = false;                 // 64 bits: the next register has the upper half
  std::optional<std::uint32_t> uniform; // a uniform register of 64 bits, 32 in shared memory
  std::int64_t offset = 0;
  std::uint32_t result = kZero, results = 0; // first general register that it writes, how many
  std::uint32_t predicate = 7;               // 7: always
  bool is_negated = false;
};

// Nothing where the form is not known. For sm_80 to sm_90.
std::optional<AddressOperand> address_operand(std::uint64_t low, std::uint64_t high,
                                              unsigned architecture);

// What an instruction other than an access does, as far as it matters to the values of registers.
struct RegisterEffect {
  bool is_jump = false;        // a branch, call or return: the next instruction may be elsewhere
  bool is_trap = false;        // BPT: __trap()
  bool writes_uniform = false; // it may write any uniform register
  std::uint32_t result = 255, results = 0; // general registers that it may write, at most
};
RegisterEffect register_effect(std::uint64_t low, std::uint64_t high, unsigned architecture);
// Whether the next instruction may be elsewhere in the same function: no call, no return.
bool is_branch(std::uint64_t low);

// An instruction that is always executed and computes an integer from others: what it writes to one
// register, or to two where it is wide. Operands that it has not are 0.
struct SassArithmetic {
  // Special registers: the first of three for x, y and z
  static constexpr std::uint32_t kThreadIndex = 0x21, kBlockIndex = 0x25;
  enum class Op : std::uint8_t {
    kMove,             // third: also what is loaded from constant memory
    kAdd,              // first + second + third
    kShiftAndAdd,      // (first << shift) + second
    kShiftAndAddUpper, // the upper half of (third:first << shift), + second
    kMultiplyAndAdd,   // first * second + third; where it is wide, third is
  };
  struct Operand {
    enum class Kind : std::uint8_t { kImmediate, kGeneral, kUniform, kConstant, kSpecial };
    Kind kind = Kind::kImmediate;
    std::uint32_t value = 0; // a register's number, or an offset in bytes
    std::uint32_t bank = 0;  // of constant memory
  };
  Op op = Op::kMove;
  static constexpr std::uint32_t kNone = 7, kZeroUniform = 63; // PT, URZ
  std::uint32_t result = 255, shift = 0;
  // Predicates, uniform ones where it is: one is added to the sum, one gets the sum's carry
  std::uint32_t carry_in = kNone, carry_out = kNone;
  bool is_uniform = false; // its results are uniform registers
  bool is_wide = false;
  bool is_signed = false; // of kMultiplyAndAdd where it is wide
  Operand first, second, third;
};
// Nothing where the form is not known. For sm_80 to sm_90; sums were learnt on sm_90 alone.
std::optional<SassArithmetic> decode_arithmetic(std::uint64_t low, std::uint64_t high,
                                                unsigned architecture);
// Bytes from a branch to where it goes; nothing for other instructions. For sm_90.
std::optional<std::int64_t> branch_distance(std::uint64_t low, std::uint64_t high,
                                            unsigned architecture);

// Which word of constant bank 4 the instructions before `at` load into a general register: its
// offset in bytes. Bank 4 has the addresses of variables and functions. Nothing if they load
// something else, if it is not known, or behind a jump. For sm_80 to sm_90.
std::optional<std::uint32_t> constant_in_register(std::span<const char> code, std::uint64_t at,
                                                  std::uint32_t reg, unsigned architecture);

// All of a function's, by offset. A rest of less than an instruction is ignored.
std::vector<Instruction> decode_function(std::span<const char> code, unsigned architecture);

} // namespace gmt
