// SPDX-License-Identifier: Apache-2.0
// Instruction::extra of bulk copies, st.async and red.async.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gmt::executor {

namespace bulk_form {
inline constexpr std::uint32_t kToGlobal = 1, kFromGlobal = 2; // else shared memory
inline constexpr std::uint32_t kGroup = 4;                     // else an mbarrier counts its bytes
inline constexpr std::uint32_t kIm2col = 8;                    // of a tensor
inline constexpr std::uint32_t kOffsets = 128;                 // behind the coordinates
inline constexpr std::uint32_t kRankShift = 4;                 // bits 4 to 6: of a tensor
inline constexpr std::uint32_t kCombineShift = 8; // bits 8 to 15: a place in kCombines, and 1; 0:
                                                  // none
inline constexpr std::uint32_t kCountShift = 16;  // bits 16 to 19: registers
inline constexpr std::uint32_t kBytesShift = 20;  // bits 20 to 23: of each of them
// Bits 24 to 27, where the tensor map has the type: a place in kOperations, and 1; 0: none
inline constexpr std::uint32_t kOperationShift = 24;

inline constexpr std::uint32_t kCoordinateBytes = 512; // from one of the registers to the next

// What an element becomes.
inline constexpr std::array<std::string_view, 29> kCombines = {
  "add.u32", "add.s32",  "add.u64",  "add.s64",  "add.f32",    "add.f64", "min.u32", "min.s32",
  "min.u64", "min.s64",  "max.u32",  "max.s32",  "max.u64",    "max.s64", "and.b32", "and.b64",
  "or.b32",  "or.b64",   "xor.b32",  "xor.b64",  "inc.u32",    "dec.u32", "add.f16", "min.f16",
  "max.f16", "add.bf16", "min.bf16", "max.bf16", "add.ftz.f32"};

inline constexpr std::array<std::string_view, 8> kOperations = {"add", "min", "max", "and",
                                                                "or",  "xor", "inc", "dec"};

constexpr std::uint32_t combine(std::uint32_t extra) { return extra >> kCombineShift & 0xff; }
constexpr std::uint32_t rank(std::uint32_t extra) { return extra >> kRankShift & 7; }
constexpr std::string_view operation(std::uint32_t extra) { // empty: there is none
  const std::uint32_t number = extra >> kOperationShift & 0xf;
  return number == 0 ? std::string_view() : kOperations[number - 1];
}
} // namespace bulk_form

} // namespace gmt::executor
