// SPDX-License-Identifier: Apache-2.0
// Fat binaries made by hand as nvcc lays them out.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace gmt::test {

inline constexpr unsigned kPtx = 1, kCubin = 2;

template <class Integer> void put(std::string& into, std::size_t at, Integer value) {
  std::memcpy(into.data() + at, &value, sizeof value);
}

// `body` is the code as stored, `plain_bytes` its size if it is packed.
inline std::string stored_entry(unsigned kind, std::string body, std::uint64_t flags,
                                std::uint64_t plain_bytes, unsigned architecture = 90) {
  std::string head(64, '\0');
  put(head, 0, static_cast<std::uint16_t>(kind));
  put(head, 4, std::uint32_t{64});
  put(head, 16, static_cast<std::uint32_t>(plain_bytes != 0 ? body.size() : 0));
  put(head, 28, std::uint32_t{architecture});
  put(head, 40, flags);
  body.resize((body.size() + 7) / 8 * 8);
  put(head, 8, std::uint64_t{body.size()});
  put(head, 56, plain_bytes);
  return head + body;
}

inline std::string packed_by_lz4(const std::string& plain) {
  const auto size = static_cast<int>(plain.size());
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(size)), '\0');
  const int bytes =
    LZ4_compress_default(plain.data(), packed.data(), size, static_cast<int>(packed.size()));
  packed.resize(static_cast<std::size_t>(bytes));
  return packed;
}

// Packed by zstd if wanted.
inline std::string entry(unsigned kind, const std::string& code, bool packed = false,
                         unsigned architecture = 90) {
  if (!packed) return stored_entry(kind, code, 0x11, 0, architecture);
  std::string body(ZSTD_compressBound(code.size()), '\0');
  body.resize(ZSTD_compress(body.data(), body.size(), code.data(), code.size(), 1));
  return stored_entry(kind, std::move(body), 0x8011, code.size(), architecture);
}

inline std::string container(const std::string& entries) {
  std::string head(16, '\0');
  put(head, 0, std::uint32_t{0xba55ed50});
  put(head, 4, std::uint16_t{1});
  put(head, 6, std::uint16_t{16});
  put(head, 8, std::uint64_t{entries.size()});
  return head + entries;
}

} // namespace gmt::test
