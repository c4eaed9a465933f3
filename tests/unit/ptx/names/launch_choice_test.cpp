// SPDX-License-Identifier: Apache-2.0
// Launches by their numbers, and processes by the names of their programs.
#include "ptx/names/launch_choice.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace gmt::ptx {
namespace {

TEST(LaunchChoice, HasBothEnds) {
  const LaunchChoice some("10..20");
  EXPECT_FALSE(some.includes(9));
  EXPECT_TRUE(some.includes(10));
  EXPECT_TRUE(some.includes(20));
  EXPECT_FALSE(some.includes(21));
  EXPECT_FALSE(LaunchChoice("15").includes(14));
  EXPECT_TRUE(LaunchChoice("15").includes(15));
  EXPECT_FALSE(LaunchChoice("15").includes(16));
}

TEST(LaunchChoice, MayHaveOneEndOrNone) {
  EXPECT_TRUE(LaunchChoice("10..").includes(~0ull));
  EXPECT_FALSE(LaunchChoice("10..").includes(9));
  EXPECT_TRUE(LaunchChoice("..20").includes(1));
  EXPECT_FALSE(LaunchChoice("..20").includes(21));
  EXPECT_TRUE(LaunchChoice("").includes(1));
  EXPECT_TRUE(LaunchChoice().includes(~0ull));
}

TEST(LaunchChoice, RefusesWhatIsNone) {
  for (const char* text :
       {"..", "0", "0..3", "20..10", "a..b", "1..2..3", "-1", "1 ", "1.2", "18446744073709551616"})
    EXPECT_THROW(LaunchChoice{text}, std::invalid_argument) << text;
}

TEST(Programs, AreNamedWithoutTheirFolders) {
  EXPECT_TRUE(is_among_programs("", "/bin/solver"));
  EXPECT_TRUE(is_among_programs("train*,solver", "/bin/solver"));
  EXPECT_TRUE(is_among_programs("train*,solver", "trainer.2"));
  EXPECT_FALSE(is_among_programs("train*,solver", "/train/solver2"));
  EXPECT_FALSE(is_among_programs("solve", "/bin/solver"));
  EXPECT_FALSE(is_own_program_among("no such program"));
  EXPECT_TRUE(is_own_program_among("*"));
}

} // namespace
} // namespace gmt::ptx
