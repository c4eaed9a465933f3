// SPDX-License-Identifier: Apache-2.0
// What is known of each instruction of PTX: opcodes.def as data. find_opcode() gives the row of an
// instruction, uses_of() what each of its operands is for: which registers are read and written,
// which operands are addresses, of which state space, and how many bytes are accessed there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ptx/opcodes/bit_flow.h"
#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

enum class Accuracy : std::uint8_t { kExact, kApproximate, kByWords, kByOrder };

enum class MemoryUse : std::uint8_t {
  kNoAddress,   // the operand is none
  kNotAccessed, // it is one, but nothing is read or written there
  kRead,
  kWritten,
  kUpdated, // read and written as one
};

// One word of the column `operands`.
struct OperandPattern {
  char type = 'x'; // a letter of opcodes.def; '[': an address; '.': all that follow
  bool reads = true, writes = false;
  bool is_vector = false, may_be_pair = false, is_optional = false;
  // Of an address:
  MemoryUse memory = MemoryUse::kNoAddress;
  char bytes_from = 0; // 'T', 'L'; 'n': `bytes`; '#': the operand `bytes`; 0: unknown
  std::uint8_t bytes = 0;
  bool is_row = false; // see OperandUse
  char space = '1';    // '1', '2', 's', 't', 'm'
};

inline constexpr std::size_t kMostOperands = 8, kMostWords = 4;

struct Opcode {
  std::string_view name, forms, implied;
  std::string_view since;    // empty: it is not executed
  std::string_view programs; // which need it, if it is not
  BitFlow flow = BitFlow::kAny;
  Accuracy accuracy = Accuracy::kExact;
  std::array<std::string_view, kMostWords> words{}; // of its name, behind the opcode
  std::array<OperandPattern, kMostOperands> operands{};
  std::uint8_t word_count = 0, operand_count = 0;

  std::string_view opcode() const { return name.substr(0, name.find('.')); }
  std::span<const OperandPattern> patterns() const { return {operands.data(), operand_count}; }
};

// All rows, in the order of opcodes.def.
std::span<const Opcode> opcodes();
// Null if PTX has no such instruction.
const Opcode* find_opcode(const Mnemonic& mnemonic);
// Whether an instruction may begin with this word.
bool is_opcode(std::string_view word);
// Whether results of this instruction may differ from a GPU's.
bool is_inexact(const Opcode& opcode, const Mnemonic& mnemonic);

// Whether the name or the column `forms` has the word: by itself, as a type, or in a group of words
// that say how visible, where, how cached or how wide an access is (ptx/opcodes/words.cpp).
bool names_word(const Opcode& opcode, std::string_view word);

// The types that an instruction names, in the order of its words.
std::vector<Type> types_of(const Mnemonic& mnemonic);
// The state spaces that it names, likewise.
Space space_of(const Mnemonic& mnemonic, std::size_t which = 0); // kNone: it names fewer

// What an operand of an instruction is for. Registers in an address are read, whatever stands here.
struct OperandUse {
  bool reads = false, writes = false; // its registers, or the first of a pair
  Type type = Type::kNone;            // of a value, or of an element; kNone: that of its register
  MemoryUse memory = MemoryUse::kNoAddress;
  Space space = Space::kNone;          // of an address; kNone: generic
  std::uint64_t bytes = 0;             // from the address on; 0: unknown, or see bytes_operand
  std::uint32_t bytes_operand = kNone; // the operand whose value is the number of bytes
  bool is_row = false; // each lane's address is that of a row, which the warp shares

  bool operator==(const OperandUse&) const = default;
};

// Replaces what `uses` held: one for each operand. Of an instruction that the table does not have,
// all operands count as read, and an address as updated. False if the operands are not those of
// the table.
bool uses_of(const Body& body, const Instruction& instruction, std::vector<OperandUse>& uses);
// The same, but only which word of the row each operand is.
bool match_operands(const Body& body, const Instruction& instruction,
                    std::vector<const OperandPattern*>& matched);

} // namespace gmt::ptx
