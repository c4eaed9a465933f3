// SPDX-License-Identifier: Apache-2.0
// What loads of constant bank 4 leave in registers, see sass.h. Learnt from the calls of
// __assertfail that nvcc 13 compiles for sm_80 to sm_90: LDC and ULDC have the offset in bits 38 to
// 53, MOV and IMAD in words in bits 40 to 53; all of them have the bank in bits 54 to 58. A product
// with RZ (255) is 0, so an IMAD with it moves its addend.
#include <algorithm>
#include <array>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/sass.h"
#include "analyzer/device_code/sass_words.h"

namespace gmt {
namespace {

constexpr std::uint64_t kBank = 4;
constexpr std::uint64_t kMostBefore = 256; // instructions that are looked at
constexpr std::uint32_t kZeroRegister = AddressOperand::kZero;

bool is_wide_load(const SassWords& w) { return w.field(73, 3) == 5; }

using BankOffset = std::optional<std::uint32_t>; // in bank 4, of the word that the register holds

class BankRegisters {
public:
  BankOffset general(std::uint32_t number) const {
    return number < kZeroRegister ? general_[number] : BankOffset();
  }

  void step(const SassWords& w, unsigned architecture) {
    if (load(w) || move(w)) return;
    const RegisterEffect effect = register_effect(w.low, w.high, architecture);
    if (effect.is_jump || effect.is_trap) return forget();
    if (effect.writes_uniform) uniform_.fill({});
    for (std::uint32_t i = 0; i < effect.results; ++i) set(effect.result + i, {});
  }

private:
  void forget() {
    general_.fill({});
    uniform_.fill({});
  }
  void set(std::uint32_t number, BankOffset value) {
    if (number < kZeroRegister) general_[number] = value;
  }

  bool load(const SassWords& w) {
    constexpr std::uint32_t kLdc = 0xb82, kUldc = 0xab9;
    const bool is_uniform = w.field(0, 12) == kUldc;
    if (!is_uniform && w.field(0, 12) != kLdc) return false;
    const bool is_known =
      w.field(54, 5) == kBank && (is_uniform || w.field(24, 8) == kZeroRegister);
    const auto offset = w.field(38, 16);
    for (std::uint32_t i = 0; i < (is_wide_load(w) ? 2u : 1u); ++i) {
      const BankOffset value = is_known ? BankOffset(offset + 4 * i) : BankOffset();
      if (is_uniform) uniform_[(w.field(16, 8) + i) % uniform_.size()] = value;
      else set(w.field(16, 8) + i, value);
    }
    return true;
  }

  bool move(const SassWords& w) {
    constexpr std::uint32_t kMov = 0x202, kMovConstant = 0xa02, kMovUniform = 0xc02;
    constexpr std::uint32_t kImad = 0x224, kImadConstant = 0x624, kImadUniform = 0xe24;
    const std::uint32_t opcode = w.field(0, 12);
    const bool is_imad = opcode == kImad || opcode == kImadConstant || opcode == kImadUniform;
    if (is_imad && w.field(24, 8) != kZeroRegister) return false;
    BankOffset value;
    if (opcode == kMov) {
      value = general(w.field(32, 8));
    } else if (opcode == kImad) {
      value = general(w.field(64, 8));
    } else if (opcode == kMovUniform || opcode == kImadUniform) {
      value = uniform_[w.field(32, 8) % uniform_.size()];
    } else if (opcode == kMovConstant || opcode == kImadConstant) {
      if (w.field(54, 5) == kBank) value = w.field(40, 14) * 4;
    } else {
      return false;
    }
    set(w.field(16, 8), value);
    return true;
  }

  std::array<BankOffset, 256> general_;
  std::array<BankOffset, 64> uniform_;
};

} // namespace

std::optional<std::uint32_t> constant_in_register(std::span<const char> code, std::uint64_t at,
                                                  std::uint32_t reg, unsigned architecture) {
  constexpr unsigned kFirst = 80, kLast = 90;
  if (architecture < kFirst || architecture > kLast || at > code.size()) return std::nullopt;
  BankRegisters registers;
  const std::uint64_t most = kMostBefore * kInstructionBytes;
  SassWords words;
  for (std::uint64_t i = at - std::min(at / kInstructionBytes * kInstructionBytes, most); i < at;
       i += kInstructionBytes) {
    if (!read_at(code, i, words)) return std::nullopt;
    registers.step(words, architecture);
  }
  return registers.general(reg);
}

} // namespace gmt
