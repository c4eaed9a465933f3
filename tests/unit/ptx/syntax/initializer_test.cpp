// SPDX-License-Identifier: Apache-2.0
// Initial values of variables in all forms that PTX has.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

Variable variable(const std::string& declaration) {
  const Module module =
    parse_module(test::module_text(".global .u32 other[4];\n.func f() { ret; }\n" + declaration));
  Variable found = *module.find_variable("v");
  for (SymbolAddress& address : found.addresses) { // views into a text that ends here
    address.symbol = address.symbol == "f" ? "f" : "other";
  }
  return found;
}

template <class T> std::vector<T> values(const std::string& declaration) {
  const Variable found = variable(declaration);
  std::vector<T> result(found.size / sizeof(T));
  std::memcpy(result.data(), found.initial.data(), found.initial.size());
  return result;
}

TEST(PtxInitializer, Bytes) {
  EXPECT_EQ(values<std::uint8_t>(".global .align 1 .b8 v[6] = {116, 104, 0x65, 0145, 0b101};"),
            (std::vector<std::uint8_t>{116, 104, 101, 101, 5, 0}));
  EXPECT_EQ(variable(".global .b8 v[6] = {1, 2};").initial.size(), 2u);
}

TEST(PtxInitializer, IntegersAndExpressions) {
  EXPECT_EQ(values<std::int32_t>(
              ".global .s32 v[] = {-1, (3 + 4) * 2, 1 << 4 | 1, ~0, !5, 7 > 3 ? 10 : 20};"),
            (std::vector<std::int32_t>{-1, 14, 17, -1, 0, 10}));
  EXPECT_EQ(values<std::uint64_t>(".const .u64 v = 18446744073709551615U;"),
            std::vector<std::uint64_t>{~0ull});
  EXPECT_EQ(values<std::int64_t>(".const .s64 v[3] = {-7 / 2, -7 % 4, -8 >> 1};"),
            (std::vector<std::int64_t>{-3, -3, -4}));
  EXPECT_EQ(
    values<std::uint64_t>(".const .u64 v[2] = {(.u64)-8 >> 60, (.s64)0xfffffffffffffff8 / 2};"),
    (std::vector<std::uint64_t>{15, static_cast<std::uint64_t>(-4)}));
}

TEST(PtxInitializer, Floats) {
  EXPECT_EQ(values<float>(".global .f32 v[4] = {0f3FC00000, 0F40000000, 2.5, -3};"),
            (std::vector<float>{1.5F, 2.0F, 2.5F, -3.0F}));
  EXPECT_EQ(values<double>(".global .f64 v[4] = {0d4004000000000000, -1.5, 1e3, 0f3F800000};"),
            (std::vector<double>{2.5, -1.5, 1000.0, 1.0}));
}

TEST(PtxInitializer, DimensionsAndVectors) {
  EXPECT_EQ(values<std::uint16_t>(".global .u16 v[3][2] = {{1}, {2, 3}};"),
            (std::vector<std::uint16_t>{1, 0, 2, 3, 0, 0}));
  EXPECT_EQ(values<std::uint32_t>(".global .v2 .u32 v[2] = {{1, 2}, {3, 4}};"),
            (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(values<std::uint32_t>(".global .u32 v[][2] = {{1, 2}, {3, 4}, {5}};"),
            (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(values<std::uint8_t>(".global .b8 v[2][2] = {1, 2, 3};"),
            (std::vector<std::uint8_t>{1, 2, 3, 0}));
}

TEST(PtxInitializer, Addresses) {
  const Variable found =
    variable(".global .align 8 .u64 v[6] = {1, generic(other), f, other+8, generic(other)-4, 0};");
  ASSERT_EQ(found.addresses.size(), 4u);
  EXPECT_EQ(found.size, 48u);
  EXPECT_EQ(found.addresses[0].at, 8u);
  EXPECT_EQ(found.addresses[0].size, 8u);
  EXPECT_TRUE(found.addresses[0].generic);
  EXPECT_EQ(found.addresses[0].symbol, "other");
  EXPECT_EQ(found.addresses[1].symbol, "f");
  EXPECT_FALSE(found.addresses[1].generic);
  EXPECT_EQ(found.addresses[2].at, 24u);
  EXPECT_EQ(found.addresses[2].addend, 8);
  EXPECT_EQ(found.addresses[3].addend, -4);
}

TEST(PtxInitializer, BytesOfAddresses) {
  const Variable found =
    variable(".global .b8 v[3] = {0xff(other), 0xff00(other), 0xff0000(generic(other))};"
             "\n");
  ASSERT_EQ(found.addresses.size(), 3u);
  EXPECT_EQ(found.addresses[1].mask, 0xff00u);
  EXPECT_EQ(found.addresses[1].at, 1u);
  EXPECT_EQ(found.addresses[1].size, 1u);
  EXPECT_TRUE(found.addresses[2].generic);
}

TEST(PtxInitializer, BadOnes) {
  const auto error = [](const std::string& text) {
    return test::error_of(test::module_text(text));
  };
  EXPECT_EQ(error(".global .u32 v[2] = {1, 2, 3};"), "line 4: more values than 'v' has");
  EXPECT_EQ(error(".global .u32 v[2][2] = {1, 2, 3, {4}};"), "line 4: more rows than 'v' has");
  EXPECT_EQ(error(".global .u32 v = 1 / 0;"), "line 4: a constant is divided by zero");
  EXPECT_EQ(error(".global .u16 v = 1.5;"), "line 4: a floating-point value for 'v' of type .u16");
  EXPECT_EQ(error(".global .u32 v[4] = 1;"), "line 4: expected '{' of an initializer, found '1'");
  EXPECT_EQ(error(".global .b8 v[2][549755813888] = {{1}, {1}};"),
            "line 4: an initializer that is too large");
  EXPECT_EQ(error(".global .b8 v[99999999999999];"), "line 4: an array that is too large");
  EXPECT_EQ(error(".global .u64 v[549755813888][549755813888] = {1};"),
            "line 4: an array that is too large");
  EXPECT_NE(error(".global .u32 v = " + std::string(1000, '(') + "1;").find("nested too deeply"),
            std::string::npos);
}

} // namespace
} // namespace gmt::ptx
