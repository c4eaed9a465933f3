// SPDX-License-Identifier: Apache-2.0
// The last words of a process, and what is said to the command of children that come up without us.
#include "interposer/hooks/process_hooks.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include "interposer/log/thread_session.h"
#include "tests/unit/interposer/support/recorded.h"

namespace gmt::interposer {
namespace {

using trace::ExitWay;
using trace::Kind;

char kept[] = "LD_PRELOAD=/opt/libother.so:/opt/libgpumemtrace.so",
     other[] = "LD_PRELOAD=/opt/x.so", path[] = "PATH=/bin";
char* const with_us[] = {path, kept, nullptr};
char* const with_another[] = {path, other, nullptr};
char* const with_nothing[] = {path, nullptr};

class InterposerProcessHooks : public RecordedTest {
protected:
  void SetUp() override {
    ASSERT_NE(thread_log(), nullptr);
    ASSERT_NE(std::getenv("GPUMEMTRACE_NOTES"), nullptr) << "CTest sets it";
    notes_ = std::getenv("GPUMEMTRACE_NOTES");
    std::ofstream(notes_).close();
    RecordedTest::SetUp();
  }
  // What the command gets, with the number of this process left out.
  std::string notes() const {
    std::ifstream in(notes_);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::string number = "\t" + std::to_string(getpid()) + "\t";
    for (std::size_t at = 0; (at = text.find(number)) != std::string::npos;)
      text.replace(at, number.size(), " ");
    return text;
  }
  std::string notes_;
};

TEST_F(InterposerProcessHooks, TheEndIsRecordedWithItsStatus) {
  record_end(0x1ff);
  const Recorded record = only(Kind::kExit);
  EXPECT_EQ(trace::ExitView(record).way(), ExitWay::kUnderscoreExit);
  EXPECT_EQ(trace::ExitView(record).status(), 0xffu) << "the system keeps these bits";
}

TEST_F(InterposerProcessHooks, AnExecThatFailsIsTakenBack) {
  before_exec("/bin/true", with_us, Lookup::kNone);
  errno = ENOENT;
  EXPECT_EQ(exec_failed(-1), -1);
  EXPECT_EQ(errno, ENOENT);
  const std::vector<Recorded> words = fresh(Kind::kExit);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(trace::ExitView(words[0]).way(), ExitWay::kExec);
  EXPECT_EQ(trace::ExitView(words[1]).way(), ExitWay::kExecFailed);
  EXPECT_EQ(notes(), "");
}

TEST_F(InterposerProcessHooks, ChildrenWithoutUsAreReported) {
  report_unhooked("/bin/one", with_us, Lookup::kNone);
  EXPECT_EQ(notes(), "");
  report_unhooked("/bin/two", with_another, Lookup::kNone);
  report_unhooked("three", with_nothing, Lookup::kPath);
  report_unhooked(nullptr, nullptr, Lookup::kNone);
  EXPECT_EQ(notes(), "unhooked /bin/two\nunhooked three\nunhooked ?\n");
  EXPECT_TRUE(fresh(Kind::kExit).empty());
}

TEST_F(InterposerProcessHooks, AShellIsReportedIfThisProcessDropsUs) {
  report_shell("make all"); // this test has no preload
  EXPECT_EQ(notes(), "unhooked make all\n");
}

TEST_F(InterposerProcessHooks, AForkedChildHasNoLastWordsOfItsParent) {
  const pid_t child = fork();
  if (child == 0) {
    record_end(3);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fresh(Kind::kExit).empty());
}

} // namespace
} // namespace gmt::interposer
