// SPDX-License-Identifier: Apache-2.0
// Code that is packed as compilers do it, and what becomes of it when it is damaged.
#include "ptx/fatbin/unpack.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/unit/ptx/support/fatbin_writer.h"

namespace gmt::ptx {
namespace {

using gmt::test::packed_by_lz4;

std::string some_code() {
  std::string code;
  for (unsigned i = 0; i < 2000; ++i)
    code += "\tadd.s32 %r" + std::to_string(i * 7919 % 1000) + ", 1;\n";
  return code;
}

std::string by_zstd(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 3));
  return packed;
}

// Of the only entry of a container.
std::optional<std::string> unpacked(const std::string& container) {
  FatbinReader reader(container.data(), container.size());
  FatbinEntry entry;
  if (!reader.next(entry)) return std::nullopt;
  std::string plain(entry.header.plain_bytes, '\0');
  std::size_t bytes = 0;
  if (!unpack_code(packing_of(entry.header), entry.code, packed_bytes(entry), plain.data(),
                   plain.size(), &bytes))
    return std::nullopt;
  plain.resize(bytes);
  return plain;
}

std::string one(const std::string& packed, std::uint64_t flags, std::size_t plain_bytes) {
  return gmt::test::container(gmt::test::stored_entry(kFatbinPtx, packed, flags, plain_bytes));
}

TEST(FatbinUnpack, WhatTheLibrariesPack) {
  const std::string plain = some_code();
  EXPECT_EQ(unpacked(one(packed_by_lz4(plain), kFatbinLz4 | 0x11, plain.size())), plain);
  EXPECT_EQ(unpacked(one(by_zstd(plain), kFatbinZstd | 0x11, plain.size())), plain);
}

TEST(FatbinUnpack, FlagsSayHow) {
  FatbinEntryHeader header{};
  header.flags = 0x11;
  EXPECT_EQ(packing_of(header), FatbinPacking::kPlain);
  header.flags = 0x11 | kFatbinLz4;
  EXPECT_EQ(packing_of(header), FatbinPacking::kLz4);
  header.flags = 0x11 | kFatbinZstd;
  EXPECT_EQ(packing_of(header), FatbinPacking::kZstd);
}

TEST(FatbinUnpack, PaddingIsNoCode) {
  FatbinEntry entry;
  entry.bytes = 24;
  entry.header.compressed_bytes = 19;
  EXPECT_EQ(packed_bytes(entry), 24u);
  entry.header.flags = kFatbinLz4;
  EXPECT_EQ(packed_bytes(entry), 19u);
  entry.header.compressed_bytes = 25;
  EXPECT_EQ(packed_bytes(entry), 24u);
}

TEST(FatbinUnpack, DamageIsNoticed) {
  const std::string plain = some_code(), lz4 = packed_by_lz4(plain), zstd = by_zstd(plain);
  EXPECT_FALSE(unpacked(one(lz4, kFatbinLz4, plain.size() + 1)));
  EXPECT_FALSE(unpacked(one(lz4, kFatbinLz4, plain.size() - 1)));
  EXPECT_FALSE(unpacked(one(zstd, kFatbinZstd, plain.size() - 1)));
  EXPECT_FALSE(unpacked(one(lz4.substr(0, lz4.size() - 9), kFatbinLz4, plain.size())));
  EXPECT_FALSE(unpacked(one(zstd.substr(0, zstd.size() - 9), kFatbinZstd, plain.size())));
  EXPECT_FALSE(unpacked(one("neither of both", kFatbinZstd, plain.size())));
}

} // namespace
} // namespace gmt::ptx
