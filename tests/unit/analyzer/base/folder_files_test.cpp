// SPDX-License-Identifier: Apache-2.0
// Files of folders that another user may have made: links, pipes, second names.

#include "analyzer/base/folder_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt {
namespace {

namespace fs = std::filesystem;

class FolderFiles : public ::testing::Test {
protected:
  fs::path in(const char* name) const { return folder_.path() / name; }
  WriteFailure replace(const fs::path& file, Into into) {
    return replace_file(file, into, [](std::ostream& out) { out << "new"; });
  }

  test::TemporaryDirectory folder_;
};

TEST_F(FolderFiles, OpensRegularFilesAlone) {
  test::write_file(in("file"), "text");
  fs::create_symlink(in("file"), in("link"));
  fs::create_directory(in("folder"));
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", in("device"));
  EXPECT_EQ(read_in_folder(in("file"), 100), "text");
  EXPECT_EQ(read_in_folder(in("file"), 2), "te");
  for (const char* name : {"link", "folder", "pipe", "device", "absent"}) {
    EXPECT_EQ(read_in_folder(in(name), 100), std::nullopt) << name;
    EXPECT_FALSE(is_file_in_folder(in(name))) << name;
  }
  EXPECT_TRUE(open_regular(in("link")));
  for (const char* name : {"folder", "pipe", "device", "absent"})
    EXPECT_FALSE(open_regular(in(name))) << name;
}

TEST_F(FolderFiles, ReadsLineByLine) {
  test::write_file(in("file"), "a\n\nbb\n" + std::string(3 << 20, 'x') + "\nlast");
  std::vector<std::string> lines;
  for_each_line_of(open_in_folder(in("file")), [&lines](std::string_view line) {
    lines.emplace_back(line);
    return true;
  });
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "bb", "", "last"}));
  for_each_line_of(Descriptor(), [](std::string_view) {
    ADD_FAILURE();
    return true;
  });
}

TEST_F(FolderFiles, ReplacesALinkAndNotWhatItNames) {
  test::write_file(in("target"), "old");
  test::write_file(in("info"), "");
  fs::create_symlink(in("target"), in("file"));
  for (int i = 0; i < 3; ++i) {
    const std::string number = i == 0 ? "" : "." + std::to_string(i - 1);
    fs::create_symlink(in("target"),
                       in("file").string() + "." + std::to_string(::getpid()) + number + ".tmp");
  }
  for (const Into into : {Into::kOwnTrace, Into::kTrace}) {
    EXPECT_FALSE(replace(in("file"), into));
    EXPECT_EQ(test::read_file(in("target")), "old");
    EXPECT_FALSE(fs::is_symlink(in("file")));
    EXPECT_EQ(test::read_file(in("file")), "new");
  }
}

TEST_F(FolderFiles, FollowsALinkThatTheUserNamed) {
  test::write_file(in("target"), "old");
  fs::create_symlink(in("target"), in("link"));
  EXPECT_FALSE(replace(in("link"), Into::kAnyFolder));
  EXPECT_TRUE(fs::is_symlink(in("link")));
  EXPECT_EQ(test::read_file(in("target")), "new");
}

// /dev/null and /dev/stdout among them, which root could replace.
TEST_F(FolderFiles, ReplacesNoDeviceAndNoPipe) {
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", in("device"));
  for (const char* name : {"pipe", "device"}) {
    EXPECT_EQ(replace(in(name), Into::kAnyFolder).why, "it is no regular file") << name;
    EXPECT_FALSE(fs::is_regular_file(in(name))) << name;
  }
}

TEST_F(FolderFiles, StoresNothingInAnotherFolder) {
  EXPECT_EQ(replace("/nowhere/at/all", Into::kAnyFolder).why, "No such file or directory");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_EQ(::chown(folder_.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(replace(in("file"), Into::kTrace).why, "the folder is no trace");
  test::write_file(in("info"), "");
  EXPECT_FALSE(is_own_folder(folder_.path()));
  EXPECT_EQ(replace(in("file"), Into::kOwnTrace).why, "the folder belongs to another user");
  EXPECT_FALSE(open_to_append(in("log")));
  EXPECT_FALSE(fs::exists(in("file")) || fs::exists(in("log")));
  EXPECT_FALSE(replace(in("file"), Into::kTrace));
}

TEST_F(FolderFiles, AppendsToItsOwnFilesAlone) {
  EXPECT_TRUE(open_to_append(in("log")));
  fs::create_hard_link(in("log"), in("second name"));
  fs::create_symlink(in("target"), in("link"));
  ASSERT_EQ(::mkfifo(in("pipe").c_str(), 0600), 0);
  for (const char* name : {"log", "link", "pipe"}) EXPECT_FALSE(open_to_append(in(name))) << name;
  EXPECT_FALSE(fs::exists(in("target")));
}

TEST_F(FolderFiles, NamesWhatKeptItFromWriting) {
  fs::create_directory(in("file"));
  const WriteFailure failure = replace(in("file"), Into::kAnyFolder);
  EXPECT_EQ(failure.why, "Is a directory");
  EXPECT_STREQ(failure.what, "renamed to");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1); // nothing half done
}

} // namespace
} // namespace gmt
