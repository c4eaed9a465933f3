// SPDX-License-Identifier: Apache-2.0
// What a scope does not know goes on to the scope around it.
#include "ptx/syntax/labels.h"

namespace gmt::ptx {

void LabelScopes::collect() {
  for (; collected_ < references_.size(); ++collected_) {
    open_.push_back(static_cast<std::uint32_t>(collected_));
  }
}

void LabelScopes::open() {
  collect();
  scopes_.push_back({{}, open_.size()});
}

void LabelScopes::close() {
  collect();
  const Scope& scope = scopes_.back();
  std::size_t kept = scope.first_reference;
  for (std::size_t i = scope.first_reference; i < open_.size(); ++i) {
    Reference& reference = references_[open_[i]];
    const auto found = scope.targets.find(reference.name);
    if (found == scope.targets.end()) {
      open_[kept++] = open_[i];
    } else {
      reference.kind = found->second.first;
      reference.id = found->second.second;
    }
  }
  open_.resize(kept);
  scopes_.pop_back();
}

bool LabelScopes::define(std::string_view name, OperandKind kind, std::size_t id) {
  const std::pair target{kind, static_cast<std::uint32_t>(id)};
  return scopes_.back().targets.try_emplace(name, target).second;
}

const Reference* LabelScopes::unknown() const {
  return open_.empty() ? nullptr : &references_[open_.front()];
}

} // namespace gmt::ptx
