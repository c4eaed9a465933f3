// SPDX-License-Identifier: Apache-2.0
// Messages of Protocol Buffers as bytes: fields are appended in any order, a message within another
// once it is whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gmt {

class ProtoMessage {
public:
  ProtoMessage& number(unsigned field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  ProtoMessage& bytes(unsigned field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    data_ += value;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& value) {
    return bytes(field, value.data_);
  }

  const std::string& data() const { return data_; }
  bool is_empty() const { return data_.empty(); }
  void clear() { data_.clear(); }

private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) data_ += static_cast<char>(value | 0x80);
    data_ += static_cast<char>(value);
  }

  std::string data_;
};

} // namespace gmt
