// SPDX-License-Identifier: Apache-2.0
// Instruction::immediate of a video instruction: what it computes, and of which parts of its
// operands. All of them are one form.
#pragma once

#include <cstdint>

namespace gmt::executor {

enum class Video : std::uint8_t {
  kAdd,
  kSub,
  kAverage,
  kDifference,
  kLeast,
  kGreatest,
  kLeft,
  kRight,
  kProduct,
  kEqual,
  kUnequal,
  kLess,
  kLessOrEqual,
};

struct VideoForm {
  std::uint64_t operation : 4 = 0;        // a Video
  std::uint64_t adds : 1 = 0;             // the third operand; else the result replaces parts of it
  std::uint64_t is_result_signed : 1 = 0; // of a product: what it and the third operand are
  std::uint64_t is_first_signed : 1 = 0;
  std::uint64_t is_second_signed : 1 = 0;
  std::uint64_t saturates : 1 = 0;
  std::uint64_t wraps : 1 = 0;           // a shift: its count; else it ends at 32
  std::uint64_t negates_product : 1 = 0; // of the product:
  std::uint64_t negates_third : 1 = 0;
  std::uint64_t plus_one : 1 = 0;
  std::uint64_t parts : 3 = 1; // that are computed
  std::uint64_t result_bytes : 3 = 4;
  std::uint64_t first_bytes : 3 = 4;
  std::uint64_t second_bytes : 3 = 4;
  // Three bits for each part, the lowest first: which of those of both operands, the second's
  // behind the first's.
  std::uint64_t first : 12 = 0;
  std::uint64_t second : 12 = 1;
  std::uint64_t mask : 4 = 1; // which parts of the result are written
  std::uint64_t unused : 10 = 0;
};
static_assert(sizeof(VideoForm) == sizeof(std::uint64_t));

} // namespace gmt::executor
