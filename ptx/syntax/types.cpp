// SPDX-License-Identifier: Apache-2.0
// Names of types, state spaces and special registers.
#include "ptx/syntax/types.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace gmt::ptx {
namespace {

struct TypeRow {
  std::string_view name;
  std::uint32_t bits;
};

constexpr TypeRow kTypes[] = {
  {"", 0},
#define GMT_PTX_TYPE(enumerator, name, bits) {name, bits},
#include "ptx/syntax/types.def"
#undef GMT_PTX_TYPE
};

struct SpecialRow {
  std::string_view name;
  Type type;
};

constexpr SpecialRow kSpecials[] = {
#define GMT_PTX_SPECIAL(enumerator, name, type) {name, type},
#include "ptx/syntax/special_registers.def"
#undef GMT_PTX_SPECIAL
};

constexpr std::string_view kSpaces[] = {"generic", "reg",    "const", "global",       "local",
                                        "param",   "shared", "tex",   "tensor memory"};

} // namespace

std::uint32_t bits_of(Type type) { return kTypes[static_cast<std::size_t>(type)].bits; }

std::uint32_t size_of(Type type) { return bits_of(type) / 8; }

std::string_view name_of(Type type) { return kTypes[static_cast<std::size_t>(type)].name; }

Type type_named(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTypes) + 1, std::end(kTypes),
                                   [name](const TypeRow& row) { return row.name == name; });
  return found == std::end(kTypes) ? Type::kNone : static_cast<Type>(found - std::begin(kTypes));
}

std::string_view name_of(Space space) { return kSpaces[static_cast<std::size_t>(space)]; }

Space space_named(std::string_view name) {
  name = name.substr(0, name.find("::"));
  const auto* found = std::find(std::begin(kSpaces) + 1, std::end(kSpaces), name);
  return found == std::end(kSpaces) ? Space::kNone
                                    : static_cast<Space>(found - std::begin(kSpaces));
}

std::string_view name_of(SpecialRegister special) {
  return kSpecials[static_cast<std::size_t>(special)].name;
}

Type type_of(SpecialRegister special) { return kSpecials[static_cast<std::size_t>(special)].type; }

bool find_special(std::string_view name, SpecialRegister& special) {
  const auto* found = std::find_if(std::begin(kSpecials), std::end(kSpecials),
                                   [name](const SpecialRow& row) { return row.name == name; });
  if (found == std::end(kSpecials)) return false;
  special = static_cast<SpecialRegister>(found - std::begin(kSpecials));
  return true;
}

} // namespace gmt::ptx
