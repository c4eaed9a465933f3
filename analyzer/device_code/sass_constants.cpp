// SPDX-License-Identifier: Apache-2.0
// What loads of constant bank 4 leave in registers, see sass.h. Learnt from the calls of
// __assertfail that nvcc 13 compiles for sm_80 to sm_90: LDC and ULDC have the offset in bits 38 to
// 53, MOV and IMAD in words in bits 40 to 53; all of them have the bank in bits 54 to 58. A product
// with RZ (255) is 0, so an IMAD with it moves its addend.
#include <algorithm>
#include <array>

#include "analyzer/base/byte_reader.h"
#include "analyzer/device_code/sass.h"

namespace gmt {
namespace {

constexpr std::uint64_t kBank = 4;
constexpr std::uint64_t kMostBefore = 256; // instructions that are looked at
constexpr std::uint32_t kZeroRegister = AddressOperand::kZero;

struct SassWords {
  std::uint64_t low = 0, high = 0;
  std::uint64_t bits(unsigned from, unsigned count) const {
    return low >> from & ((std::uint64_t{1} << count) - 1);
  }
  std::uint32_t opcode() const { return static_cast<std::uint32_t>(bits(0, 12)); }
  std::uint32_t result() const { return static_cast<std::uint32_t>(bits(16, 8)); }
  std::uint32_t first() const { return static_cast<std::uint32_t>(bits(24, 8)); }
  std::uint32_t second() const { return static_cast<std::uint32_t>(bits(32, 8)); }
  std::uint32_t third() const { return static_cast<std::uint32_t>(high & 0xff); }
  bool is_wide_load() const { return (high >> 9 & 7) == 5; }
};

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
    const bool is_uniform = w.opcode() == kUldc;
    if (!is_uniform && w.opcode() != kLdc) return false;
    const bool is_known = w.bits(54, 5) == kBank && (is_uniform || w.first() == kZeroRegister);
    const auto offset = static_cast<std::uint32_t>(w.bits(38, 16));
    for (std::uint32_t i = 0; i < (w.is_wide_load() ? 2u : 1u); ++i) {
      const BankOffset value = is_known ? BankOffset(offset + 4 * i) : BankOffset();
      if (is_uniform) uniform_[(w.result() + i) % uniform_.size()] = value;
      else set(w.result() + i, value);
    }
    return true;
  }

  bool move(const SassWords& w) {
    constexpr std::uint32_t kMov = 0x202, kMovConstant = 0xa02, kMovUniform = 0xc02;
    constexpr std::uint32_t kImad = 0x224, kImadConstant = 0x624, kImadUniform = 0xe24;
    const std::uint32_t opcode = w.opcode();
    const bool is_imad = opcode == kImad || opcode == kImadConstant || opcode == kImadUniform;
    if (is_imad && w.first() != kZeroRegister) return false;
    BankOffset value;
    if (opcode == kMov) {
      value = general(w.second());
    } else if (opcode == kImad) {
      value = general(w.third());
    } else if (opcode == kMovUniform || opcode == kImadUniform) {
      value = uniform_[w.second() % uniform_.size()];
    } else if (opcode == kMovConstant || opcode == kImadConstant) {
      if (w.bits(54, 5) == kBank) value = static_cast<std::uint32_t>(w.bits(40, 14) * 4);
    } else {
      return false;
    }
    set(w.result(), value);
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
