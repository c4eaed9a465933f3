// SPDX-License-Identifier: Apache-2.0
// See declared_pointers.h. Names are demangled once a function.
#include "analyzer/declared_pointers.h"

#include "analyzer/function_name.h"

namespace gmt {
namespace {

// Parameter by parameter of a demangled function name; empty if it has no parameter list.
std::vector<bool> pointer_parameters(std::string_view name) {
  if (!name.ends_with(')')) return {};
  std::size_t open = name.size();
  for (int depth = 0; open-- > 0;) {
    if (name[open] == ')') ++depth;
    if (name[open] == '(' && --depth == 0) break;
  }
  if (open >= name.size()) return {};
  std::vector<bool> pointers;
  int depth = 0;
  for (std::size_t at = open + 1; at < name.size(); ++at) {
    const char c = name[at];
    if ((c == ',' || at + 1 == name.size()) && depth == 0) pointers.push_back(name[at - 1] == '*');
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == '}' || c == ']') --depth;
  }
  return pointers;
}

} // namespace

bool DeclaredPointers::contain(std::uint64_t function, unsigned parameter) {
  const std::string_view name = facts_.handle_name(function);
  auto& [known_name, pointers] = declared_[function];
  if (known_name != name) { // a new one, or another kernel's at the same place
    known_name = name;
    pointers = pointer_parameters(demangle(name));
  }
  const Kernel* kernel = facts_.kernel(function);
  return kernel != nullptr && kernel->parameters.size() == pointers.size() && parameter < pointers.size() &&
         pointers[parameter];
}

} // namespace gmt
