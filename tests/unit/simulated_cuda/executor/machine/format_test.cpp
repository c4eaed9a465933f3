// SPDX-License-Identifier: Apache-2.0
// What printf of a kernel prints is what an H100 printed of the same arguments.
#include "simulated_cuda/executor/machine/format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace gmt::executor {
namespace {

// The arguments lie as nvcc puts them: 4 bytes or 8, each aligned to its size.
class Arguments {
public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    bytes_.resize(bytes_.size() + sizeof value);
    std::memcpy(bytes_.data() + bytes_.size() - sizeof value, &value, sizeof value);
    return *this;
  }
  std::string printed(const std::string& format) const {
    std::string unknown;
    return printed(format, &unknown);
  }
  // The conversion that an H100 does not have, and that spoils something there.
  std::string unknown_in(const std::string& format) const {
    std::string unknown;
    printed(format, &unknown);
    return unknown;
  }

private:
  std::string printed(const std::string& format, std::string* unknown) const {
    const auto read = [this](std::uint64_t offset, std::uint32_t size, void* to) {
      if (offset + size > bytes_.size()) return false;
      std::memcpy(to, bytes_.data() + offset, size);
      return true;
    };
    const auto text = [](std::uint64_t) { return std::string("word"); };
    std::uint64_t count = 0;
    return format_text(format, read, text, &count, unknown);
  }

  std::vector<char> bytes_;
};

std::string of_int(const char* format, int value) { return Arguments().add(value).printed(format); }
std::string of_long(const char* format, std::uint64_t value) {
  return Arguments().add(value).printed(format);
}

TEST(Format, SizesOfIntegers) {
  EXPECT_EQ(of_int("%hhd", 300), "44");
  EXPECT_EQ(of_int("%hhd", -200), "56");
  EXPECT_EQ(of_int("%hhx", 0x1234), "34");
  EXPECT_EQ(of_int("%hho", 0x1ff), "377");
  EXPECT_EQ(of_int("%hhX", -1), "FF");
  EXPECT_EQ(of_int("%hd", 70000), "4464");
  EXPECT_EQ(of_int("%hi", -40000), "25536");
  EXPECT_EQ(of_int("%hx", -1), "ffff");
  EXPECT_EQ(of_int("%x", -1), "ffffffff");
  EXPECT_EQ(of_int("%u", -294967296), "4000000000");
  EXPECT_EQ(of_int("%8.5d|%%", 5), "   00005|%");
  EXPECT_EQ(of_long("%lu", 0x123456789abcdef0), "1311768467463790320");
  EXPECT_EQ(of_long("%llX", 0x123456789abcdef0), "123456789ABCDEF0");
  EXPECT_EQ(of_long("%lld", ~0ull), "-1");
}

TEST(Format, SizesThatCudaDoesNotHaveAre32Bits) {
  EXPECT_EQ(of_long("%zu", 0x123456789abcdef0), "2596069104");
  EXPECT_EQ(of_long("%zd", ~std::uint64_t{4}), "4294967291");
  for (const char* format : {"%zx", "%jx", "%tx", "%Lx", "%qx"})
    EXPECT_EQ(of_long(format, 0x123456789abcdef0), "9abcdef0") << format;
}

TEST(Format, ConversionsThatSpoilSomethingOnAnH100AreNamed) {
  const Arguments small = Arguments().add(std::uint64_t{7}).add(5).add(6);
  EXPECT_EQ(small.unknown_in("%zu"), ""); // it prints what it should
  EXPECT_EQ(small.unknown_in("%zu of %d"), "%zu");
  EXPECT_EQ(small.unknown_in("%llu %d %d"), "");
  EXPECT_EQ(Arguments().add(std::uint64_t{1} << 40).unknown_in("%-6zu"), "%-6zu");
  EXPECT_EQ(Arguments().add(~std::uint64_t{0}).unknown_in("%td"), "%td");
  EXPECT_EQ(Arguments().add(5).unknown_in("%hhd"), "");
  EXPECT_EQ(Arguments().add(5).add(1.5).unknown_in("%hhd|%f"), "%hhd");
  EXPECT_EQ(Arguments().add(5).add(1.5).unknown_in("%hd|%f"), "");
  EXPECT_EQ(Arguments().add(3).add(1.5).unknown_in("%.*f"), "%.*f");
  EXPECT_EQ(Arguments().add(8).add(1.5).unknown_in("%*.2f"), "");
  EXPECT_EQ(Arguments().add(1.5).unknown_in("%Lf"), "%Lf");
}

TEST(Format, ArgumentsBehindOthersAreAligned) {
  const Arguments arguments = Arguments().add(7).add(1.5).add(3).add(std::uint64_t{9});
  EXPECT_EQ(arguments.printed("%hd %.2f %d %llu"), "7 1.50 3 9");
}

} // namespace
} // namespace gmt::executor
