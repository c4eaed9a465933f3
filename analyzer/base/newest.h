// SPDX-License-Identifier: Apache-2.0
// Keeps the newest `Most` values of those that it is given, in the order in which they came.
#pragma once

#include <cstddef>
#include <vector>

namespace gmt {

template <class Value, std::size_t Most> class Newest {
public:
  // A new value to fill in; valid until the next one.
  Value& add() {
    Value& value = reuse();
    if (values_.size() == Most) value = {};
    return value;
  }
  // The same, but what the oldest one held may still be there.
  Value& reuse() {
    if (values_.size() < Most) return values_.emplace_back();
    Value& value = values_[oldest_];
    oldest_ = oldest_ + 1 == Most ? 0 : oldest_ + 1;
    return value;
  }

  std::size_t size() const { return values_.size(); }
  // The oldest one is number 0.
  const Value& operator[](std::size_t number) const {
    const std::size_t at = oldest_ + number;
    return values_[at < values_.size() ? at : at - values_.size()];
  }

private:
  std::vector<Value> values_;
  std::size_t oldest_ = 0; // in values_, once that is full
};

} // namespace gmt
