// SPDX-License-Identifier: Apache-2.0
// What processes wait for, read while they write it.
#include "analyzer/command/run/wait_notices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace gmt {
namespace {

struct WaitNoticesTest : testing::Test {
  void SetUp() override {
    char name[] = "/tmp/gpumemtrace-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(std::string_view text) const { std::ofstream(path(), std::ios::app) << text; }
  std::string path() const { return (folder / "notes").string(); }

  std::filesystem::path folder;
};

TEST_F(WaitNoticesTest, TheNewestOfWhatIsNewIsSaid) {
  WaitNotices notices(path());
  EXPECT_EQ(notices.newest(), ""); // there is no file
  write("waits\t12\tcompiling\nnolog\t12\ta reason\nwaits\t13\twaiting\nwaits\t");
  EXPECT_EQ(notices.newest(), "waiting");
  EXPECT_EQ(notices.newest(), "");
  write("14\tcompiling 5");
  EXPECT_EQ(notices.newest(), ""); // the line is not whole
  write("0 kernels\n");
  EXPECT_EQ(notices.newest(), "compiling 50 kernels");
  write("nolog\t12\t" + std::string(9000, 'x') + "\n");
  EXPECT_EQ(notices.newest(), "");
  write("waits\t12\n" + std::string("waits\t12\tlast\n"));
  EXPECT_EQ(notices.newest(), "last");
}

} // namespace
} // namespace gmt
