// SPDX-License-Identifier: Apache-2.0
// What may steer a terminal, or show words in another order, does not get through.
#include "analyzer/base/printable.h"

#include <gtest/gtest.h>

namespace gmt {
namespace {

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable("step<int>(float*)"), "step<int>(float*)");
  EXPECT_EQ(printable("\u00fcber \u4e16\u754c \U0001f600"), "\u00fcber \u4e16\u754c \U0001f600");
  EXPECT_EQ(printable_lines("a\n\tb"), "a\n\tb");
}

TEST(Printable, ReplacesControls) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\n"), "a?[2Jb??");
  EXPECT_EQ(printable("a\u009b2Jb"), "a?2Jb"); // C1 as a character
  EXPECT_EQ(printable("a\x9b"
                      "2Jb"),
            "a?2Jb"); // and as a byte
  EXPECT_EQ(printable("a\u0085"), "a?");
  EXPECT_EQ(printable_lines("a\rb\x1b"), "a?b?");
}

TEST(Printable, ReplacesWhatChangesTheOrderOfWords) {
  for (const char* control : {"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067",
                              "\u2068", "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029"})
    EXPECT_EQ(printable(std::string("a") + control + "b"), "a?b");
}

TEST(Printable, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("\xc0\x80"), "??");           // overlong
  EXPECT_EQ(printable("\xe2\x80"), "??");           // cut off
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");      // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????"); // above the last one
}

} // namespace
} // namespace gmt
