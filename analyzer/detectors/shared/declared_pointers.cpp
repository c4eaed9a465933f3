// SPDX-License-Identifier: Apache-2.0
// A function's name is demangled once.
#include "analyzer/detectors/shared/declared_pointers.h"

#include <algorithm>
#include <iterator>

#include "analyzer/symbols/demangle.h"

namespace gmt {
namespace {

// "int", "unsigned long", "double"; "float2" and the like.
bool is_number(std::string_view type) {
  static constexpr std::string_view kWords[] = {"unsigned ", "signed ", "long ", "short "};
  static constexpr std::string_view kTypes[] = {"bool",  "char",     "short",    "int",    "long",
                                                "float", "double",   "uchar",    "ushort", "uint",
                                                "ulong", "longlong", "ulonglong"};
  for (const std::string_view word : kWords) {
    while (type.starts_with(word)) type.remove_prefix(word.size());
  }
  const bool is_vector = !type.empty() && type.back() >= '1' && type.back() <= '4';
  if (is_vector) type.remove_suffix(1);
  return std::ranges::find(kTypes, type) != std::end(kTypes);
}

// "CUgraphExec_st*", as cudaGraphExec_t is.
bool is_handle(std::string_view type) { return type.starts_with("CU") && type.ends_with("_st*"); }

} // namespace

DeclaredPointers::Parameter DeclaredPointers::declared_by(std::string_view type) {
  while (type.starts_with(' ')) type.remove_prefix(1);
  if (is_handle(type)) return {.declared = Declared::kHandle};
  if (type.ends_with('*')) return {.declared = Declared::kPointer};
  return {.declared = is_number(type) ? Declared::kNumber : Declared::kOther,
          .is_unsigned_long_long = type == "unsigned long long"};
}

// Parameter by parameter of a demangled function name; empty if it has no parameter list.
std::vector<DeclaredPointers::Parameter>
DeclaredPointers::declared_parameters(std::string_view name) {
  if (!name.ends_with(')')) return {};
  std::size_t open = name.size();
  for (int depth = 0; open-- > 0;) {
    if (name[open] == ')') ++depth;
    if (name[open] == '(' && --depth == 0) break;
  }
  if (open >= name.size()) return {};
  std::vector<Parameter> declared;
  int depth = 0;
  std::size_t begin = open + 1; // of the parameter's type
  for (std::size_t at = begin; at < name.size(); ++at) {
    const char c = name[at];
    if ((c == ',' || at + 1 == name.size()) && depth == 0) {
      declared.push_back(declared_by(name.substr(begin, at - begin)));
      begin = at + 1;
    }
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
  }
  return declared;
}

const DeclaredPointers::Parameter* DeclaredPointers::find(std::uint64_t function,
                                                          unsigned parameter) {
  const std::string_view name = facts_.handle_name(function);
  auto& [known_name, declared] = declared_[function];
  if (known_name != name) { // a new one, or another kernel's at the same address
    known_name = name;
    declared = declared_parameters(demangle(name));
  }
  const Kernel* kernel = facts_.kernel(function);
  const bool is_known = kernel != nullptr && kernel->parameters.size() == declared.size();
  return is_known && parameter < declared.size() ? &declared[parameter] : nullptr;
}

Declared DeclaredPointers::of(std::uint64_t function, unsigned parameter) {
  const Parameter* known = find(function, parameter);
  return known != nullptr ? known->declared : Declared::kUnknown;
}

bool DeclaredPointers::may_be_object(std::uint64_t function, unsigned parameter) {
  const Parameter* known = find(function, parameter);
  return known == nullptr || known->is_unsigned_long_long;
}

} // namespace gmt
