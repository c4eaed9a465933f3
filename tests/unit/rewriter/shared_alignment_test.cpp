// SPDX-License-Identifier: Apache-2.0
#include "rewriter/shared_alignment.h"

#include <gtest/gtest.h>

namespace gmt::rewriter {
namespace {

TEST(SharedAlignment, ArraysThatWideAccessesMayMeetAreAligned) {
  EXPECT_EQ(with_aligned_arrays("\t.shared .align 4 .b8 tile[1024];\n"),
            "\t.shared .align 16 .b8 tile[1024];\n");
  EXPECT_EQ(with_aligned_arrays("{ .shared .f32 a[2][2]; .shared .align 8 .v2 .f32 b[2]; }"),
            "{ .shared .align 16 .f32 a[2][2]; .shared .align 16 .v2 .f32 b[2]; }");
  EXPECT_EQ(with_aligned_arrays(".visible .shared\n.align 1\n.b8 name [ 16 ];"),
            ".visible .shared .align 16\n.b8 name [ 16 ];");
}

TEST(SharedAlignment, AllElseStaysAsItIs) {
  for (const char* text :
       {"\t.shared .align 32 .b8 wide[64];", "\t.shared .align 16 .b8 wide[64];",
        "\t.shared .align 4 .b8 small[12];", "\t.shared .b32 one;",
        "\t.extern .shared .align 4 .b8 dynamic[];", "ld.shared.u32 %r1, [tile];",
        "cvta.to.shared.u64 %rd1, %rd2;", ".param .u64 .ptr .shared .align 4 p[16]",
        ".param .u64 .ptr .shared .align 4 name", " .shared", " .shared .align", " .shared .b8 a[",
        " .shared .b8 a[x];", " .shared .b8 a[16", " .shared .align x .b8 a[16];"})
    EXPECT_EQ(with_aligned_arrays(text), text);
}

} // namespace
} // namespace gmt::rewriter
