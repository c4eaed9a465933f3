// SPDX-License-Identifier: Apache-2.0
// Names of files in paths of other machines.
#include "analyzer/base/path.h"

#include <gtest/gtest.h>

namespace gmt {
namespace {

TEST(BaseName, IsWhatFollowsTheLastSlash) {
  EXPECT_EQ(base_name("/usr/lib/libcuda.so.1"), "libcuda.so.1");
  EXPECT_EQ(base_name("kernel.cu"), "kernel.cu");
  EXPECT_EQ(base_name("folder/"), "");
  EXPECT_EQ(base_name("/"), "");
  EXPECT_EQ(base_name(""), "");
}

} // namespace
} // namespace gmt
