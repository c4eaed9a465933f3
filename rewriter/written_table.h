// SPDX-License-Identifier: Apache-2.0
// Which memory of the device is written, as checked kernels and the host know it. A byte stands for
// each 4 bytes of addresses (a word). A page of these bytes stands for 8 MiB of addresses; a table
// has the address of each page, for the two windows of addresses that Options describe. Addresses
// outside of both have the first page.
//
// Memory of which nothing is known shares one page, in which every byte counts as written.
#pragma once

#include <cstdint>

#include "rewriter/table.h"

namespace gmt::rewriter {

inline constexpr std::uint64_t kWordBytes = 4;
inline constexpr std::uint8_t kIsWritten = 1, kIsUnwritten = 0; // bytes of a page
inline constexpr unsigned kPageBits = 23;                       // of addresses
inline constexpr std::uint64_t kBytesOfPage = (std::uint64_t{1} << kPageBits) / kWordBytes;
// Behind each page are so many bytes more, which are written: a group's check may read on there.
inline constexpr std::uint64_t kBehindPage = 512;

// Of an access, a byte each.
constexpr std::uint32_t words_of(std::uint32_t bytes) {
  return bytes < kWordBytes ? 1 : bytes / static_cast<std::uint32_t>(kWordBytes);
}

inline std::uint64_t page_count(const Options& options) {
  return std::uint64_t{1} << (options.window_bits - kPageBits);
}
// Of a covered address.
inline std::uint64_t page_index(const Options& options, std::uint64_t address) {
  const bool is_low = address < window_bytes(options);
  return (is_low ? address : address - placed_of(options).shift) >> kPageBits;
}
inline std::uint64_t offset_in_page(std::uint64_t address) {
  return (address & ((std::uint64_t{1} << kPageBits) - 1)) / kWordBytes;
}

} // namespace gmt::rewriter
