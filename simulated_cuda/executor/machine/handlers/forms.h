// SPDX-License-Identifier: Apache-2.0
// The table of forms that the machine can execute, each with its handler. There are two tables, for
// two levels of x86-64.
#pragma once

#include "simulated_cuda/executor/program/program.h"

#include <string>
#include <string_view>

namespace gmt::executor {

class FormTable {
public:
  FormTable();
  ~FormTable();
  FormTable(const FormTable&) = delete;
  FormTable& operator=(const FormTable&) = delete;

  void add(const char* form, Handler handler); // null: the form keeps its handler
  void add(const char* prefix, const char* suffix, Handler handler); // "prefix.suffix"
  Handler find(std::string_view form) const;                         // null: it cannot be executed
  std::size_t size() const;

private:
  struct Data;
  Data* data_;
};

// The table for this machine: of the highest level that it can execute.
const FormTable& forms();
// That of one level, 2 or 3; null if the machine cannot execute it, or it is not compiled.
const FormTable* forms_of_level(int level);

// Level 3 has handlers of its own for what programs execute all the time; for the rest, which takes
// long to compile, it has those of level 2. CMakeLists.txt names the files of the latter.
#define GMT_QUICK_FORM_GROUPS(X)                                                                   \
  X(integer)                                                                                       \
  X(carries)                                                                                       \
  X(permute)                                                                                       \
  X(bits)                                                                                          \
  X(single)                                                                                        \
  X(approximate)                                                                                   \
  X(doubles)                                                                                       \
  X(half)                                                                                          \
  X(compare)                                                                                       \
  X(convert)                                                                                       \
  X(tracking)                                                                                      \
  X(convert_float)                                                                                 \
  X(moves)                                                                                         \
  X(globals)                                                                                       \
  X(shared)                                                                                        \
  X(frames)                                                                                        \
  X(atomics)                                                                                       \
  X(lanes)                                                                                         \
  X(control)                                                                                       \
  X(fragments)                                                                                     \
  X(products_integer)                                                                              \
  X(products_float)
#define GMT_OTHER_FORM_GROUPS(X)                                                                   \
  X(rounded)                                                                                       \
  X(compare_half)                                                                                  \
  X(narrow)                                                                                        \
  X(products_tracked)                                                                              \
  X(copies)                                                                                        \
  X(mbarriers)                                                                                     \
  X(bulk_copies)                                                                                   \
  X(clusters)

#define GMT_DECLARE_GROUP(name) void add_##name##_v2(FormTable& table);
GMT_QUICK_FORM_GROUPS(GMT_DECLARE_GROUP)
GMT_OTHER_FORM_GROUPS(GMT_DECLARE_GROUP)
#undef GMT_DECLARE_GROUP
#define GMT_DECLARE_GROUP(name) void add_##name##_v3(FormTable& table);
GMT_QUICK_FORM_GROUPS(GMT_DECLARE_GROUP)
#undef GMT_DECLARE_GROUP

} // namespace gmt::executor
