// SPDX-License-Identifier: Apache-2.0
// Sections as linkers lay them out: several containers, padding, and none at all.
#include "ptx/fatbin/section.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/ptx/support/fatbin_writer.h"

namespace gmt::ptx {
namespace {

using gmt::test::container;
using gmt::test::entry;
using gmt::test::put;

// The code of each entry, a container after the other.
std::vector<std::vector<std::string>> codes(const std::string& section) {
  const std::vector<char> bytes(section.begin(), section.end());
  std::vector<std::vector<std::string>> found;
  FatbinSection containers(bytes.data(), bytes.size());
  for (FatbinReader one; containers.next(one);) {
    found.emplace_back();
    for (FatbinEntry e; one.next(e);) found.back().emplace_back(e.code, e.bytes);
  }
  return found;
}

using Codes = std::vector<std::vector<std::string>>;

const std::string kFirst = "first cubin.....", kSecond = "the text of PTX.";

bool late(const std::string& section) {
  return parts_are_linked_late(section.data(), section.size());
}

TEST(FatbinSection, ContainersComeInOrder) {
  const std::string one = container(entry(kFatbinCubin, kFirst) + entry(kFatbinPtx, kSecond)),
                    other = container(entry(kFatbinPtx, kSecond));
  EXPECT_EQ(codes(""), Codes{});
  EXPECT_EQ(codes(one + other), (Codes{{kFirst, kSecond}, {kSecond}}));
  EXPECT_EQ(codes(std::string(40, '\0') + one + std::string(16, '\0') + other),
            (Codes{{kFirst, kSecond}, {kSecond}}));
}

TEST(FatbinSection, AContainerOfOddLengthIsPadded) {
  std::string odd = container(entry(kFatbinPtx, kSecond));
  put(odd, 8, std::uint64_t{64 + 13}); // of the container's entries
  put(odd, 16 + 8, std::uint64_t{13}); // of the entry's code
  EXPECT_EQ(codes(odd + container(entry(kFatbinCubin, kFirst))),
            (Codes{{kSecond.substr(0, 13)}, {kFirst}}));
}

TEST(FatbinSection, DamageIsPassedOver) {
  const std::string good = container(entry(kFatbinPtx, kSecond));
  std::string bad = container(entry(kFatbinCubin, kFirst));
  put(bad, 6, std::uint16_t{15}); // of the header
  EXPECT_EQ(codes(bad + good), Codes{{kSecond}});
  put(bad, 6, std::uint16_t{16});
  put(bad, 8, ~std::uint64_t{0}); // reaches over what follows
  EXPECT_EQ(codes(bad + good).size(), 1u);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_LE(codes(good.substr(0, size)).size(), 1u) << size;
}

TEST(FatbinSection, AnEmptyContainerIsLinkedByTheDriver) {
  const std::string code = container(entry(kFatbinCubin, kFirst));
  EXPECT_TRUE(late(""));
  EXPECT_TRUE(late(container("")));
  EXPECT_TRUE(late(code + container("")));
  EXPECT_FALSE(late(code));
  EXPECT_FALSE(late(code + code));
}

} // namespace
} // namespace gmt::ptx
