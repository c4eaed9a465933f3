// SPDX-License-Identifier: Apache-2.0
// The numbers of payload words, by the names of trace/records.def: AllocWord::address, and
// AllocWord::kCount for how many have a name. Kernels include it, too.
#pragma once

#include "format.h" // beside this file also where device_hooks installs both

namespace gmt::trace {

#define RECORD(record, number, what, since, meaning)                                               \
  static_assert(static_cast<unsigned>(Kind::k##record) == number, "records.def and format.h");     \
  struct record##Word {                                                                            \
    enum : unsigned {
#define FIELD(record, word, name, form, column, since, meaning) name,
#define ALIAS(record, name, field, form, when)
#define REST(record, name, form, since, meaning)
#define END_RECORD(record)                                                                         \
  kCount                                                                                           \
  }                                                                                                \
  ;                                                                                                \
  }                                                                                                \
  ;
#include "records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef END_RECORD

// The fields of a record stand in the order of their words, and leave none out.
#define RECORD(record, number, what, since, meaning)
#define FIELD(record, number, name, form, column, since, meaning)                                  \
  static_assert(record##Word::name == number, "records.def");
#define ALIAS(record, name, field, form, when)
#define END_RECORD(record)
#include "records.def"
#undef RECORD
#undef FIELD
#undef ALIAS
#undef END_RECORD
#undef REST

} // namespace gmt::trace
