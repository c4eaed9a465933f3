// SPDX-License-Identifier: Apache-2.0
// Numbers and names as a person reads them.
#include "analyzer/base/text_format.h"

#include <gtest/gtest.h>

namespace gmt {
namespace {

TEST(AsWritten, LeavesOutWhatHeadersPutBehindNames) {
  EXPECT_EQ(as_written("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(as_written("cuMemcpyHtoDAsync_v2_ptsz"), "cuMemcpyHtoDAsync");
  EXPECT_EQ(as_written("cuMemcpy_ptds"), "cuMemcpy");
  EXPECT_EQ(as_written("cuGraphAddKernelNode_v12"), "cuGraphAddKernelNode");
  EXPECT_EQ(as_written("cudaMalloc3D"), "cudaMalloc3D");
  EXPECT_EQ(as_written("cuMemcpy2D"), "cuMemcpy2D");
}

TEST(FormatPlural, GroupsDigitsAndKnowsOne) {
  EXPECT_EQ(format_plural(0, "error"), "0 errors");
  EXPECT_EQ(format_plural(1, "error"), "1 error");
  EXPECT_EQ(format_plural(1234, "error"), "1,234 errors");
  EXPECT_EQ(format_plural(2, "other process"), "2 other processes");
}

} // namespace
} // namespace gmt
