// SPDX-License-Identifier: Apache-2.0
// Reads little-endian numbers and DWARF's from bytes that may be damaged. Once a read went beyond
// the end it and all later ones give zero, and ok() is false.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace gmt {

// A copy of what stands there; false if it does not lie within.
template <class Any> bool read_at(std::span<const char> from, std::uint64_t at, Any& into) {
  if (at > from.size() || from.size() - at < sizeof into) return false;
  std::memcpy(&into, from.data() + at, sizeof into);
  return true;
}

// That part of the bytes; empty unless it lies within.
inline std::span<const char> part_of(std::span<const char> from, std::uint64_t at,
                                     std::uint64_t bytes) {
  if (at > from.size() || bytes > from.size() - at) return {};
  return from.subspan(at, bytes);
}

// What stands there up to a zero; empty if none follows.
inline std::string_view text_at(std::span<const char> from, std::uint64_t at) {
  if (at >= from.size()) return {};
  const char* const begin = from.data() + at;
  const void* const end = std::memchr(begin, '\0', from.size() - at);
  if (end == nullptr) return {};
  return {begin, static_cast<std::size_t>(static_cast<const char*>(end) - begin)};
}

class ByteReader {
public:
  explicit ByteReader(std::span<const char> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return !ok_ || at_ == bytes_.size(); }
  std::size_t position() const { return at_; }

  template <class Integer> Integer read() {
    Integer value{};
    ok_ = ok_ && read_at(bytes_, at_, value);
    if (!ok_) return Integer{};
    at_ += sizeof value;
    return value;
  }

  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = read<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  }

  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = read<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }

  // Up to a zero, which is taken too.
  std::string_view text() {
    const std::size_t begin = at_;
    while (read<char>() != '\0') {
    }
    if (!ok_) return {};
    return {bytes_.data() + begin, at_ - begin - 1};
  }

  // The next bytes as a reader of their own; this one goes on behind them.
  ByteReader part(std::uint64_t bytes) {
    ok_ = ok_ && bytes <= bytes_.size() - at_;
    if (!ok_) return ByteReader({});
    at_ += static_cast<std::size_t>(bytes);
    return ByteReader(bytes_.first(at_), at_ - static_cast<std::size_t>(bytes));
  }

private:
  // Keeps the positions of the whole, which relocations name.
  ByteReader(std::span<const char> bytes, std::size_t at) : bytes_(bytes), at_(at) {}

  std::span<const char> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

} // namespace gmt
