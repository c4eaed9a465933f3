// SPDX-License-Identifier: Apache-2.0
// The tables of both levels, made when they are first needed.
#include "simulated_cuda/executor/machine/handlers/groups.h"

#include <unordered_map>

namespace gmt::executor {

struct FormTable::Data {
  std::unordered_map<std::string, Handler> handlers;
};

FormTable::FormTable() : data_(new Data) {}
FormTable::~FormTable() { delete data_; }

void FormTable::add(const char* form, Handler handler) {
  if (handler != nullptr) data_->handlers[form] = handler;
}

void FormTable::add(const char* prefix, const char* suffix, Handler handler) {
  add((std::string(prefix) + "." + suffix).c_str(), handler);
}

Handler FormTable::find(std::string_view form) const {
  const auto found = data_->handlers.find(std::string(form));
  return found == data_->handlers.end() ? nullptr : found->second;
}

std::size_t FormTable::size() const { return data_->handlers.size(); }

namespace {

FormTable* new_table_of_level_2() {
  auto* table = new FormTable;
#define GMT_ADD_GROUP(name) add_##name##_v2(*table);
  GMT_QUICK_FORM_GROUPS(GMT_ADD_GROUP)
  GMT_ALL_OTHER_FORM_GROUPS(GMT_ADD_GROUP)
#undef GMT_ADD_GROUP
  return table;
}

} // namespace

const FormTable* forms_of_level(int level) {
  if (level == 3) {
#ifdef GMT_HAS_V3
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2"))
      return nullptr;
    static const FormTable* const table = [] {
      FormTable* made = new_table_of_level_2();
#define GMT_ADD_GROUP(name) add_##name##_v3(*made);
      GMT_QUICK_FORM_GROUPS(GMT_ADD_GROUP)
#undef GMT_ADD_GROUP
      return made;
    }();
    return table;
#else
    return nullptr;
#endif
  }
  static const FormTable* const table = new_table_of_level_2();
  return table;
}

} // namespace gmt::executor
