// SPDX-License-Identifier: Apache-2.0
// Instruction::immediate of what uses textures and surfaces. Its coordinates lie in slots one
// behind the other: the layer if there is one, the coordinates in bytes, texels or parts of the
// whole, the level or the two gradients, the offsets in texels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gmt::executor::texture_form {

inline constexpr std::uint32_t kDimensions = 3; // of the coordinates: 1 to 3, of a cube 3
inline constexpr std::uint32_t kLayered = 1 << 2, kCube = 1 << 3;
inline constexpr std::uint32_t kLevel = 1 << 4, kGradient = 1 << 5; // neither: level 0
inline constexpr std::uint32_t kIntegers = 1 << 6; // the coordinates, and the level
inline constexpr std::uint32_t kOffsets = 1 << 7;
inline constexpr std::uint32_t kGather = 1 << 8;
inline constexpr std::uint32_t kComponentShift = 9; // bits 9 and 10, of a gather
// Surfaces:
inline constexpr std::uint32_t kBytesShift = 12;     // bits 12 to 15: of an element
inline constexpr std::uint32_t kCountShift = 16;     // bits 16 to 18: elements
inline constexpr std::uint32_t kModeShift = 19;      // bits 19 and 20: what happens outside
inline constexpr std::uint32_t kFormatted = 1 << 21; // the surface says what an element is
inline constexpr std::uint32_t kOperationShift = 22; // bits 22 to 26, a place in kOperations

inline constexpr std::uint32_t kTrap = 0, kClamp = 1, kZero = 2;

inline constexpr std::uint32_t kSlotBytes = 512; // from one coordinate to the next

// What sured does to an element.
inline constexpr std::array<std::string_view, 14> kOperations = {
  "add.u32", "add.s32", "add.u64", "min.u32", "min.s32", "max.u32", "max.s32",
  "min.u64", "min.s64", "max.u64", "max.s64", "and.b32", "or.b32",  "add.b32"};

constexpr std::uint32_t dimensions(std::uint32_t form) { return form & kDimensions; }
constexpr std::uint32_t mode(std::uint32_t form) { return form >> kModeShift & 3; }

} // namespace gmt::executor::texture_form
