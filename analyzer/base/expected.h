// SPDX-License-Identifier: Apache-2.0
// A value, or the error that stands in its way: what C++23 calls std::expected.
#pragma once

#include <utility>
#include <variant>

#include "analyzer/base/user_error.h"

namespace gmt {

template <class Value> class Expected {
public:
  Expected(Value value) : result_(std::move(value)) {}
  Expected(UserError error) : result_(std::move(error)) {}

  explicit operator bool() const { return std::holds_alternative<Value>(result_); }
  Value& operator*() { return std::get<Value>(result_); }
  const UserError& error() const { return std::get<UserError>(result_); }

  // The value; throws the error if there is none.
  Value value() && {
    if (!*this) throw error();
    return std::move(**this);
  }

private:
  std::variant<Value, UserError> result_;
};

} // namespace gmt
