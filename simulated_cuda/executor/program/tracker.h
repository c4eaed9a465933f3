// SPDX-License-Identifier: Apache-2.0
// Puts instructions for shadows before and behind those of one function: tracking.h has what they
// compute.
#pragma once

#include "simulated_cuda/executor/program/computed.h"
#include "simulated_cuda/executor/program/shape.h"
#include "simulated_cuda/executor/program/tracking.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

namespace gmt::executor {

class Tracker {
public:
  // `zero`: the operand of a constant whose lanes are all 0.
  Tracker(Program& program, Code& code, std::uint32_t zero)
      : program_(program), code_(code), zero_(zero), registers_(code.register_bytes) {}

  void run();

private:
  static constexpr std::uint32_t kTemporaryBytes = 16 * kLanes; // of one
  static constexpr std::uint8_t kOneResult = 1;

  const std::string& form(const Instruction& in) const { return program_.forms[in.form]; }
  // A copy: new forms move those that there are.
  Shape shape(const Instruction& in) const { return program_.shapes[in.form]; }

  std::uint32_t shadow(std::uint32_t operand) const {
    if (operand == kNoOperand) return kNoOperand;
    return (operand & kConstantOperand) != 0 ? zero_ : operand + registers_;
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(code_.instructions.size()); }
  static bool is_written(std::uint32_t operand) { return (operand & kConstantOperand) != 0; }
  std::uint32_t temporary(std::uint32_t which) const {
    return 2 * registers_ + which * kTemporaryBytes;
  }
  template <class F>
  static void for_each(const Shape& shape, Shape::Role role, const F& use) {
    for (std::size_t at = 0; at < std::size(shape.operands); ++at) {
      if (shape.operands[at].role == role) use(at, shape.operands[at].width);
    }
  }

  // An instruction at the end of the code.
  Instruction& emit(const std::string& name, const Instruction& of, std::uint8_t results);
  std::uint32_t intern(const std::string& name); // the number of a form
  void check(const Instruction& of, std::uint32_t operand, TrackedWidth width);
  // The result's shadow is `name` of the sources' shadows, or all ones where one of them is not 0.
  void apply(const Instruction& of, const std::string& name, std::uint32_t result,
             std::initializer_list<std::uint32_t> sources, std::uint32_t widths = 0);
  void clear(const Instruction& of, std::uint32_t result, TrackedWidth width);

  void before(const Instruction& in), behind(const Instruction& in);
  // By what an instruction does with the bits of its operands
  void by_opcode(const Instruction& in, const Shape& shape);
  void any(const Instruction& of, const Shape& shape);
  void same(const Instruction& of, const Shape& shape, std::initializer_list<std::uint32_t> data);
  void compare(const Instruction& in, const Shape& shape, std::uint32_t which);
  // By what it does beyond registers
  void check_output(const Instruction& in, const Shape& shape);
  void load_or_store(const Instruction& in, const Shape& shape, const char* name);
  void frame(const Instruction& in, bool is_load, std::uint32_t count);
  void lanes(const Instruction& in, const Shape& shape);
  void keep(const Instruction& of, std::uint32_t operand, std::uint32_t which);
  void call(const Instruction& in);
  void product(const Instruction& in, std::uint32_t bytes);

  Program& program_;
  Code& code_;
  std::uint32_t zero_, registers_;
  std::vector<Derivation> computed_; // see computed.h
};

} // namespace gmt::executor
