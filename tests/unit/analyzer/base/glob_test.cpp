// SPDX-License-Identifier: Apache-2.0
// What a pattern matches, and that it is quick.
#include "analyzer/base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace gmt {
namespace {

TEST(GlobMatch, KnowsStarAndQuestionMark) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a*c", "abbbc"));
  EXPECT_TRUE(glob_match("*b*b*", "abab"));
  EXPECT_TRUE(glob_match("?b", "ab"));
  EXPECT_TRUE(glob_match("operator[]", "operator[]"));
  EXPECT_TRUE(glob_match("operator*", "operator*"));
  EXPECT_FALSE(glob_match("a", "ab"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("a*c", "acb"));
  // Time must not explode with the number of stars.
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(GlobMatch, AStarTakesFoldersToo) {
  EXPECT_TRUE(glob_match("*/libcuda.so*", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  EXPECT_FALSE(glob_match("*/libcuda.so*", "libcuda.so.1"));
  EXPECT_FALSE(glob_match("*/libcuda.so*", "/usr/lib/libcudart.so.13"));
}

} // namespace
} // namespace gmt
