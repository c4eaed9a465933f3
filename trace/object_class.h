// SPDX-License-Identifier: Apache-2.0
// The values of ObjectClass, as trace/object_classes.def has them.
#pragma once

#include "trace/vocabulary.h"

namespace gmt::trace {

#define GMT_ENUM(name, meaning) enum class name : std::uint8_t {
#define GMT_VALUE(name, member, number, word, since, meaning) k##member = number,
#define GMT_END_ENUM(name)                                                                         \
  }                                                                                                \
  ;
#include "trace/object_classes.def"
#undef GMT_ENUM
#undef GMT_VALUE
#undef GMT_END_ENUM

} // namespace gmt::trace
