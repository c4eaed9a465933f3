// SPDX-License-Identifier: Apache-2.0
// Suppression rules: what they match, how they are counted, what a bad line says.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/base/user_error.h"
#include "analyzer/report/suppressions.h"
#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

bool suppressed_by(const std::string& rule, const ReportedFinding& finding) {
  Suppressions suppressions;
  suppressions.add_line(rule, "test.supp", 1);
  return suppressions.suppress(finding);
}

TEST(Suppressions, MatchFunctionFileAndModuleOfAnyFrame) {
  const ReportedFinding finding = test::double_free();
  EXPECT_TRUE(suppressed_by("double-free:release_all", finding));
  EXPECT_TRUE(suppressed_by("double-free:release_all()", finding));
  EXPECT_TRUE(suppressed_by("  double-free : setup  \r", finding)); // the last stack counts too
  EXPECT_TRUE(suppressed_by("*:destroy(Model?)", finding));
  EXPECT_TRUE(suppressed_by("double-*:train.cu", finding));
  EXPECT_TRUE(suppressed_by("*:/src/*", finding));
  EXPECT_TRUE(suppressed_by("*:train", finding)); // the module's last component
  EXPECT_TRUE(suppressed_by("*:/home/me/train", finding));
  EXPECT_FALSE(suppressed_by("leak:release_all", finding));
  EXPECT_FALSE(suppressed_by("double-free:release", finding)); // the whole name must match
  EXPECT_TRUE(suppressed_by("*:*", test::warning()));          // no frames at all
  EXPECT_FALSE(suppressed_by("*:?*", test::warning()));
}

TEST(Suppressions, SeeTheFunctionsAndFilesOfKernels) {
  EXPECT_TRUE(suppressed_by("device-heap-*:make_node", test::device_heap_leak()));
  EXPECT_TRUE(suppressed_by("device-heap-leak:node.h", test::device_heap_leak()));
  EXPECT_FALSE(suppressed_by("device-heap-leak:step", test::device_heap_leak()));
}

TEST(Suppressions, CountTheFirstRuleThatMatches) {
  Suppressions suppressions;
  suppressions.add_line("# comment", "a.supp", 1);
  suppressions.add_line("", "a.supp", 2);
  suppressions.add_line("leak:nowhere", "a.supp", 3);
  suppressions.add_line("*:setup", "a.supp", 4);
  suppressions.add_line("double-free:*", "a.supp", 5);
  EXPECT_EQ(suppressions.size(), 3u);
  EXPECT_TRUE(suppressions.suppress(test::double_free()));
  EXPECT_TRUE(suppressions.suppress(test::double_free()));
  EXPECT_FALSE(suppressions.suppress(test::leak()));
  const std::vector<SuppressionUse> used = suppressions.used();
  ASSERT_EQ(used.size(), 1u);
  EXPECT_EQ(used[0].rule, "*:setup");
  EXPECT_EQ(used[0].file, "a.supp");
  EXPECT_EQ(used[0].findings, 2u);
}

TEST(Suppressions, BadLineNamesItsLineAndShowsARule) {
  for (const std::string line : {"leak", "leak:", ":main", "Leak Of:main", "leak :  "}) {
    Suppressions suppressions;
    try {
      suppressions.add_line(line, "known.supp", 7);
      FAIL() << line << " was accepted";
    } catch (const UserError& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      EXPECT_EQ(std::string(error.what()).rfind("known.supp:7: ", 0), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find("kind:glob"), std::string::npos);
    }
  }
}

TEST(Suppressions, UnreadableFileIsAUsageError) {
  for (const char* path : {"/nonexistent/known.supp", "/tmp"}) {
    Suppressions suppressions;
    try {
      suppressions.add_file(path);
      FAIL() << path << " was accepted";
    } catch (const UserError& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
    }
  }
}

TEST(Suppressions, PrintedRulesSuppressWhatTheyWerePrintedFor) {
  Report report = test::ordinary();
  report.findings[0].stacks[0].frames[0].function = "void ns::pool<int>::operator[](int) const";
  report.findings[0].message += "\nsecond line";
  std::ostringstream out;
  print_suppressions(report, out);
  Suppressions suppressions;
  std::istringstream lines(out.str());
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);)
    suppressions.add_line(line, "printed", ++number);
  EXPECT_EQ(suppressions.size(), report.findings.size()) << out.str();
  for (const ReportedFinding& finding : report.findings)
    EXPECT_TRUE(suppressions.suppress(finding)) << out.str();
  EXPECT_NE(out.str().find("\ndouble-free:ns::pool<int>::operator[]\n"), std::string::npos)
    << out.str();
  EXPECT_NE(out.str().find("\nleak:libloader.so.2\n"), std::string::npos) << out.str();
}

} // namespace
} // namespace gmt
