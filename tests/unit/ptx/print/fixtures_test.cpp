// SPDX-License-Identifier: Apache-2.0
// All PTX of the tests that can be read is printed, and read again as the same syntax.
#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_fixtures.h"
#include "tests/unit/ptx/support/syntax_difference.h"

namespace gmt::ptx {
namespace {

TEST(PtxPrintFixtures, AllAreTheSameWhenPrintedAndReadAgain) {
  std::size_t modules = 0;
  for (const auto& path : test::share_of(test::all_texts())) {
    SCOPED_TRACE(path.filename().string());
    const std::string text = test::read_fixture(path);
    try {
      const Module module = parse_module(text);
      EXPECT_EQ(test::difference_when_printed(module), "");
      ++modules;
    } catch (const ParseError& error) {
      // only what fuzzers found
      EXPECT_NE(path.string().find("/fuzz/"), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(modules, test::at_least(120));
}

} // namespace
} // namespace gmt::ptx
