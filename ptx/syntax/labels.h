// SPDX-License-Identifier: Apache-2.0
// Labels, prototypes and tables by scopes. A name may stand before its declaration, in the same
// scope or in one inside it; two scopes may have the same label.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptx/syntax/operands.h"

namespace gmt::ptx {

class LabelScopes {
public:
  explicit LabelScopes(std::vector<Reference>& references) : references_(references) {}

  void open();
  void close(); // finds what its references mean
  // False: the innermost scope has this name already.
  bool define(std::string_view name, OperandKind kind, std::size_t id);
  // A reference that no scope could answer; null if there is none.
  const Reference* unknown() const;

private:
  struct Scope {
    std::unordered_map<std::string_view, std::pair<OperandKind, std::uint32_t>> targets;
    std::size_t first_reference = 0; // in open_
  };
  // References made since the last scope opened or closed belong to the innermost one.
  void collect();

  std::vector<Reference>& references_;
  std::vector<Scope> scopes_;
  std::vector<std::uint32_t> open_; // not yet found, by scopes
  std::size_t collected_ = 0;
};

} // namespace gmt::ptx
