// SPDX-License-Identifier: Apache-2.0
// One form of an opcode as a kernel: PTX that computes results from operands, thread by thread.
// A form's name is unique. Bodies name operands %a, %b, %c, %e and results %d, %f, %g. They may use
// the registers %p, %q, %r (predicates), %h (16 bits), %t, %u, %lane (32 bits) and %w (64 bits).
// %cell is the address of the last result's element, %own that of 8 bytes of shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gmt::forms {

// What values an operand takes, and how a result is read.
enum class Values : std::uint8_t {
  kBits16, // integers, and all other patterns
  kBits32,
  kBits64,
  kCount,    // 32 bits: mostly up to 70, as shifts take them
  kFlag,     // 32 bits: 0 or 1
  kFew,      // 32 bits: one of four values
  kFew64,    // the same in 64 bits
  kPositive, // f32 from 1 to 2
  kF16,
  kBf16,
  kF32,
  kF64,
  kF16x2,
  kBf16x2,
};

std::size_t size_of(Values values);

struct Form {
  std::string name;
  std::string body;
  std::vector<Values> operands;
  std::vector<Values> results;
  std::uint32_t count = 4096; // how many threads compute it, a multiple of kBlock
  bool uses_shared = false;
  // 0: PTX defines the result. Else PTX allows an error, and the executor's may differ from a GPU's
  // by so many units in the last place.
  double ulps = 0;
  // Of a form with `ulps`: a result this near also counts as equal, however many units that is.
  double absolute = 0;
};

inline constexpr std::uint32_t kBlock = 128; // threads of a block
inline constexpr std::size_t kMostOperands = 4, kMostResults = 3;

// All forms of one list, such as "integer".
struct Group {
  const char* name;
  std::vector<Form> (*forms)();
};
const std::vector<Group>& groups();

// Each in a file of lists/.
std::vector<Form> integer_forms();
std::vector<Form> carry_forms();
std::vector<Form> bit_forms();
std::vector<Form> single_forms();
std::vector<Form> double_forms();
std::vector<Form> half_forms();
std::vector<Form> compare_forms();
std::vector<Form> convert_forms();
std::vector<Form> convert_float_forms();
std::vector<Form> approximate_forms();
std::vector<Form> warp_forms();
std::vector<Form> atomic_forms();
std::vector<Form> video_forms();

// The kernel of a form: NAME(operands, results), both addresses. Each operand and result is an
// array of `count` elements; the arrays follow each other, each at a multiple of 256 bytes.
std::string kernel_text(const Form& form, std::string_view name);
// What a text of kernels starts with.
std::string_view text_head();
// Bytes of all operands or of all results.
std::size_t bytes_of(const std::vector<Values>& arrays, std::uint32_t count);
std::size_t offset_of(const std::vector<Values>& arrays, std::uint32_t count, std::size_t index);

} // namespace gmt::forms
