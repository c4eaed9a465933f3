// SPDX-License-Identifier: Apache-2.0
// What a form must give, computed a second time from PTX's words and with none of the executor's
// code: integers in 128 bits or bit by bit, floating-point exactly and then rounded. Where PTX
// leaves a result open, the model does as an H200 did, or takes what was found.
#pragma once

#include "tests/executor/forms/form.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gmt::forms::model {

struct Thread {
  std::uint64_t in[kMostOperands] = {};
  std::uint64_t found[kMostResults] = {};
  std::uint64_t out[kMostResults] = {};
};
using Evaluate = std::function<void(Thread&)>;

// The parts of a form's name between dots and blanks.
class Words {
public:
  explicit Words(const std::string& name);
  const std::string& operator[](std::size_t index) const { return words_[index]; }
  const std::string& last(std::size_t before = 0) const {
    return words_[words_.size() - 1 - before];
  }
  const std::string& opcode() const { return words_[0]; }
  bool has(std::string_view word) const;
  std::size_t size() const { return words_.size(); }

private:
  std::vector<std::string> words_;
};

// Null if the form is not of the kind. By their lists' names.
Evaluate integer_model(const Form& form, const Words& words);
Evaluate carry_model(const Form& form, const Words& words);
Evaluate bit_model(const Form& form, const Words& words);
Evaluate float_model(const Form& form, const Words& words);
Evaluate compare_model(const Form& form, const Words& words);
Evaluate convert_model(const Form& form, const Words& words);
Evaluate atomic_model(const Form& form, const Words& words);
Evaluate video_model(const Form& form, const Words& words);
Evaluate approximate_model(const Form& form, const Words& words);

// Of 32 lanes at once: false if the form is not of the kind.
bool warp_model(const Form& form, std::span<Thread> lanes);

// What the form must give, in the form's layout; empty if there is no model of it. Of approximate
// forms it is the true value, rounded.
std::vector<std::byte> expected(const Form& form, std::span<const std::byte> operands,
                                std::span<const std::byte> found);

// The lowest bits of a value, with the sign of the highest of them.
inline std::int64_t as_signed(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}
inline std::uint64_t low_bits(std::uint64_t value, int bits) {
  return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}
// Of "s32", "u16x2", "bf16"; 0 if the name has no number.
int bits_of(const std::string& type);

} // namespace gmt::forms::model
