// SPDX-License-Identifier: Apache-2.0
// What each value of trace/vocabulary.h and trace/object_class.h is called:
// word_of(MemoryKind::kPinned) is "pinned". Empty for a number without a name.
#pragma once

#include <string_view>

#include "trace/object_class.h"
#include "trace/vocabulary.h"

namespace gmt::trace {

#define GMT_ENUM(name, meaning)                                                                    \
  constexpr std::string_view word_of(name value) {                                                 \
    switch (value) {
#define GMT_VALUE(name, member, number, word, since, meaning)                                      \
  case name::k##member: return word;
#define GMT_END_ENUM(name)                                                                         \
  }                                                                                                \
  return {};                                                                                       \
  }
#include "trace/object_classes.def"
#include "trace/vocabulary.def"
#undef GMT_ENUM
#undef GMT_VALUE
#undef GMT_END_ENUM

} // namespace gmt::trace
