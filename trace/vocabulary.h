// SPDX-License-Identifier: Apache-2.0
// The enumerations of trace/vocabulary.def, and what else the trace and its readers share. What a
// record looks like is in trace/format.h. C++17, includes nothing of ours and nothing of CUDA's.
#pragma once

#include <cstdint>

namespace gmt::trace {

#define GMT_ENUM(name, meaning) enum class name : std::uint8_t {
#define GMT_VALUE(name, member, number, word, since, meaning) k##member = number,
#define GMT_END_ENUM(name)                                                                         \
  }                                                                                                \
  ;
#include "vocabulary.def" // beside this file also where device_hooks installs both
#undef GMT_ENUM
#undef GMT_VALUE
#undef GMT_END_ENUM

enum class ObjectClass : std::uint8_t; // trace/object_class.h has its values

struct Index3 {
  unsigned x, y, z;
};
constexpr bool operator==(Index3 a, Index3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

// Where the chip has no such metric.
inline constexpr std::uint64_t kUnknownCount = ~std::uint64_t{0};
// The number of an API where none is known.
inline constexpr std::uint16_t kNoApi = 0xffff;

} // namespace gmt::trace
