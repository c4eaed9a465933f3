// SPDX-License-Identifier: Apache-2.0
// Containers made by hand, whole and damaged: each walk ends, and reads nothing outside the bytes
// that it was given.
#include "ptx/fatbin/reader.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/ptx/support/fatbin_writer.h"

namespace gmt::ptx {
namespace {

using gmt::test::put;

// What the entries hold. Memory of its own, so that a sanitizer sees what is read behind it.
std::vector<std::string> codes(const std::string& container) {
  const std::vector<char> bytes(container.begin(), container.end());
  FatbinReader reader(bytes.data(), bytes.size());
  EXPECT_LE(reader.end(), bytes.size());
  std::vector<std::string> found;
  for (FatbinEntry entry; reader.next(entry);) found.emplace_back(entry.code, entry.bytes);
  return found;
}

const std::string kFirst = "first cubin.....", kSecond = "the text of PTX.";

std::string two() {
  return gmt::test::container(gmt::test::entry(kFatbinCubin, kFirst, false, 80) +
                              gmt::test::entry(kFatbinPtx, kSecond, false, 90));
}

TEST(FatbinReader, EntriesComeInOrder) {
  const std::string bytes = two() + "what follows";
  EXPECT_EQ(magic_of(bytes.data()), kFatbinMagic);
  EXPECT_EQ(fatbin_bytes(bytes.data()), two().size());
  FatbinReader reader(bytes.data(), bytes.size());
  EXPECT_EQ(reader.end(), two().size());
  FatbinEntry entry;
  ASSERT_TRUE(reader.next(entry));
  EXPECT_TRUE(entry.is_cubin() && !entry.is_ptx() && entry.is_whole());
  EXPECT_EQ(entry.header.architecture, 80u);
  EXPECT_EQ(std::string(entry.code, entry.bytes), kFirst);
  ASSERT_TRUE(reader.next(entry));
  EXPECT_TRUE(entry.is_ptx() && !entry.is_cubin() && entry.is_whole());
  EXPECT_EQ(std::string(entry.code, entry.bytes), kSecond);
  EXPECT_FALSE(reader.next(entry));
  EXPECT_FALSE(reader.next(entry));
}

TEST(FatbinReader, WhatIsCutOffIsNotRead) {
  const std::string whole = two();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    for (const std::string& code : codes(whole.substr(0, size)))
      EXPECT_TRUE(kFirst.starts_with(code) || kSecond.starts_with(code)) << size;
  }
  const std::string cut = whole.substr(0, whole.size() - 1);
  FatbinReader reader(cut.data(), cut.size());
  FatbinEntry entry;
  EXPECT_TRUE(reader.next(entry) && entry.is_whole());
  EXPECT_TRUE(reader.next(entry) && !entry.is_whole());
}

TEST(FatbinReader, NoSizeIsBelieved) {
  for (const std::uint64_t size :
       {~std::uint64_t{0}, ~std::uint64_t{0} - 15, std::uint64_t{1} << 40}) {
    std::string container = two();
    put(container, 8, size);
    EXPECT_EQ(codes(container), (std::vector{kFirst, kSecond}));
    std::string entry = two();
    put(entry, 16 + 8, size);
    EXPECT_EQ(codes(entry), std::vector{entry.substr(16 + 64)});
  }
}

TEST(FatbinReader, ADamagedHeaderEndsTheWalk) {
  const std::size_t second = 16 + 64 + kFirst.size();
  for (const std::uint32_t size : {0u, 63u, 1u << 20, ~0u}) {
    std::string bytes = two();
    put(bytes, second + 4, size);
    EXPECT_EQ(codes(bytes), std::vector{kFirst}) << size;
  }
  for (const std::uint16_t size : {std::uint16_t{0}, std::uint16_t{15}, std::uint16_t{0xffff}}) {
    std::string bytes = two();
    put(bytes, 6, size);
    EXPECT_TRUE(codes(bytes).empty()) << size;
  }
  for (std::size_t at = 0; at < two().size(); ++at) {
    std::string bytes = two();
    bytes[at] = static_cast<char>(~bytes[at]);
    EXPECT_LE(codes(bytes).size(), 3u) << at;
  }
}

} // namespace
} // namespace gmt::ptx
