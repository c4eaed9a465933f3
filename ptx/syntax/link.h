// SPDX-License-Identifier: Apache-2.0
// Links modules of PTX into one name space, as nvlink does it for -rdc=true: .extern names find
// their .visible definition, one of several .weak or .common definitions is kept, static names
// stay apart. A duplicate or a missing name is a LinkError that names all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax/ptx.h"

namespace gmt::ptx {

class LinkError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

struct LinkedVariable {
  std::uint32_t module = 0;
  const Variable* variable = nullptr; // the definition
  bool missing = false;               // only declared: no code and no initializer names it
};

struct LinkedFunction {
  std::uint32_t module = 0;
  const Function* function = nullptr; // the definition, of an alias that of its function
  bool built_in = false;              // only declared: vprintf, malloc, ...
  bool missing = false;               // only declared: no code and no initializer names it
};

class Linked {
public:
  // Functions that no module defines are errors only if `is_built_in` says no.
  using IsBuiltIn = bool (*)(std::string_view name);
  static Linked link(std::vector<std::shared_ptr<const Module>> modules, IsBuiltIn is_built_in);

  std::size_t module_count() const { return modules_.size(); }
  const Module& module(std::uint32_t index) const { return *modules_[index]; }
  const std::vector<LinkedVariable>& variables() const { return variables_; }
  const std::vector<LinkedFunction>& functions() const { return functions_; }

  // What the ids in a body of a module (kVariable, kFunction) and names in its initializers mean.
  std::uint32_t variable_of(std::uint32_t module, std::uint32_t variable) const;
  std::uint32_t function_of(std::uint32_t module, std::uint32_t function) const;
  std::optional<Symbol> find(std::uint32_t module, std::string_view name) const; // linked index

  // By a name that other modules see, or that is unique: what the host asks for.
  std::optional<Symbol> find(std::string_view name) const;

private:
  class Linker;
  std::vector<std::shared_ptr<const Module>> modules_;
  std::vector<LinkedVariable> variables_;
  std::vector<LinkedFunction> functions_;
  std::vector<std::vector<std::uint32_t>> variable_of_; // [module][index in it]
  std::vector<std::vector<std::uint32_t>> function_of_;
  std::unordered_map<std::string_view, Symbol> names_;
};

} // namespace gmt::ptx
