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

ReportedFinding leak_in(std::vector<std::string> functions, std::string line = {}) {
  ReportedFinding finding = test::leak();
  std::vector<Frame> frames;
  for (std::string& function : functions)
    frames.push_back(test::frame(std::move(function), "/src/train.cu", 7));
  finding.stacks = {test::stack("allocated here", "cudaMalloc", std::move(frames))};
  if (!line.empty()) finding.source_lines = {std::move(line)};
  return finding;
}

std::string printed(std::vector<ReportedFinding> findings) {
  Report report;
  report.findings = std::move(findings);
  std::ostringstream out;
  print_suppressions(report, out);
  return out.str();
}

std::vector<std::string> printed_rules(std::vector<ReportedFinding> findings) {
  std::vector<std::string> rules;
  std::istringstream lines(printed(std::move(findings)));
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with('#')) rules.push_back(line);
  return rules;
}

void add_lines(Suppressions& suppressions, const std::string& text) {
  std::istringstream lines(text);
  unsigned number = 0;
  for (std::string line; std::getline(lines, line);)
    suppressions.add_line(line, "printed", ++number);
}

using Rules = std::vector<std::string>;

TEST(Suppressions, ChainsBeginAtTheFirstOwnFrameOfTheCallAtFault) {
  const ReportedFinding finding = test::double_free();
  EXPECT_TRUE(suppressed_by("double-free:destroy < release_all", finding));
  EXPECT_TRUE(suppressed_by("double-free:cudaFree < destroy < release_all < main", finding));
  EXPECT_TRUE(suppressed_by("*:d?stroy < rel* < *", finding));
  EXPECT_TRUE(suppressed_by("*:destroy < *", finding));
  EXPECT_TRUE(suppressed_by("*:train.cu < train.cu < train.cu", finding)); // also files, as in
                                                                           // globs
  EXPECT_FALSE(suppressed_by("double-free:release_all < main", finding));  // not the first frame
  EXPECT_FALSE(suppressed_by("double-free:destroy < main", finding));      // one is left out
  EXPECT_FALSE(suppressed_by("double-free:destroy < release_all < main < _start", finding));
  EXPECT_FALSE(suppressed_by("double-free:step < *", finding)); // of another stack
  EXPECT_FALSE(suppressed_by("double-free:cudaFreeHost < destroy", finding));
  EXPECT_FALSE(suppressed_by("leak:destroy < release_all", finding));
  EXPECT_TRUE(suppressed_by("leak:libloader.so* < *", test::leak()));
  EXPECT_FALSE(suppressed_by("unused:main < *", test::warning()));
}

TEST(Suppressions, ChainsMayHaveTheLine) {
  const ReportedFinding finding = leak_in({"main"}, "  cudaMalloc( &a , 64 );  // kept");
  EXPECT_TRUE(suppressed_by("leak:main @ cudaMalloc(&a, 64);", finding));
  EXPECT_TRUE(suppressed_by("leak:cudaMalloc < main @ cudaMalloc(*", finding));
  EXPECT_FALSE(suppressed_by("leak:main @ cudaMalloc(&b, 64);", finding));
  EXPECT_FALSE(suppressed_by("leak:main @ cudaMalloc(&a, 64);", leak_in({"main"})));
  EXPECT_FALSE(suppressed_by("leak:step @ cudaMalloc(&a, 64);", finding));
}

TEST(Suppressions, KeepTheMeaningOfGlobsThatReadAsChains) {
  const ReportedFinding finding = leak_in({"enable<(1) < (2)>"});
  EXPECT_TRUE(suppressed_by("leak:enable<(1) < (2)>", finding));
}

TEST(Suppressions, PrintedRulesSuppressWhatTheyWerePrintedFor) {
  Report report = test::ordinary();
  report.findings.pop_back(); // it has no stack
  report.findings[0].stacks[0].frames[0].function = "void ns::pool<int>::operator[](int) const";
  report.findings[0].message += "\nsecond line";
  const std::string text = printed(report.findings);
  Suppressions suppressions;
  add_lines(suppressions, text);
  EXPECT_EQ(suppressions.size(), report.findings.size()) << text;
  for (const ReportedFinding& finding : report.findings)
    EXPECT_TRUE(suppressions.suppress(finding)) << text;
  EXPECT_TRUE(suppressions.remarks().empty());
  EXPECT_EQ(printed_rules(report.findings),
            (Rules{"double-free:ns::pool<int>::operator[] < release_all < main",
                   "leak:cudaMalloc < libloader.so*"}));
}

TEST(Suppressions, PrintedRulesHideNothingElse) {
  const ReportedFinding known =
    leak_in({"Tensor::Tensor(int)", "make_weights()", "load()", "main"});
  EXPECT_EQ(printed_rules({known}), (Rules{"leak:Tensor::Tensor < make_weights < load < main"}));
  Suppressions suppressions;
  add_lines(suppressions, printed({known}));
  EXPECT_TRUE(suppressions.suppress(known));
  EXPECT_FALSE(
    suppressions.suppress(leak_in({"Tensor::Tensor(int)", "step()", "train()", "main"})));
  EXPECT_FALSE(suppressions.suppress(leak_in({"Tensor::Tensor(int)", "make_weights()", "main"})));
}

TEST(Suppressions, PrintedRulesDistinguishTheFindingsOfARun) {
  const ReportedFinding one = leak_in({"a", "b", "c", "d", "first", "main"}),
                        two = leak_in({"a", "b", "c", "d", "second", "main"});
  EXPECT_EQ(printed_rules({one, two}),
            (Rules{"leak:a < b < c < d < first", "leak:a < b < c < d < second"}));
  EXPECT_EQ(printed_rules({leak_in({"f", "main"}, "cudaMalloc(&a, n); // kept"),
                           leak_in({"f", "main"}, "cudaMalloc(&b, n);")}),
            (Rules{"leak:f < main @ cudaMalloc(&a, n);", "leak:f < main @ cudaMalloc(&b, n);"}));
}

TEST(Suppressions, PrintedRulesAreNeverOneNameAlone) {
  EXPECT_EQ(printed_rules({leak_in({"main"}, "\tcudaMalloc(&a,  64);")}),
            (Rules{"leak:main @ cudaMalloc(&a, 64);"}));
  EXPECT_EQ(printed_rules({leak_in({"main"})}), (Rules{"leak:cudaMalloc < main"}));
  ReportedFinding kernel = leak_in({"scale"});
  kernel.stacks[0].api.clear();
  EXPECT_EQ(printed_rules({kernel}), (Rules{"leak:scale < *"}));
  EXPECT_EQ(printed_rules({test::warning()}), Rules{});
  EXPECT_NE(printed({test::warning()}).find("no call stack"), std::string::npos);
}

TEST(Suppressions, SayThatARuleHidesMoreThanItWasMadeFrom) {
  const ReportedFinding known = leak_in({"f", "main"});
  Suppressions suppressions;
  add_lines(suppressions, printed({known}));
  EXPECT_TRUE(suppressions.suppress(known));
  ReportedFinding other_process = known;
  other_process.process = 1;
  EXPECT_TRUE(suppressions.suppress(other_process));
  EXPECT_TRUE(suppressions.remarks().empty());
  EXPECT_TRUE(suppressions.suppress(leak_in({"f", "main"}, "another line")));
  ASSERT_EQ(suppressions.remarks().size(), 1u);
  EXPECT_NE(suppressions.remarks()[0].find("was made from 1 finding and hides 2"),
            std::string::npos)
    << suppressions.remarks()[0];
}

TEST(Suppressions, FilesMayBeginWithAByteOrderMarkAndHaveNoNul) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "marked.supp";
  const auto write = [&file](std::string_view text) {
    std::ofstream(file, std::ios::binary) << text;
  };
  Suppressions suppressions;
  write("\xEF\xBB\xBFleak:main\n");
  suppressions.add_file(file);
  EXPECT_TRUE(suppressions.suppress(leak_in({"main"})));
  write(std::string_view("leak:a\nleak:b\0c\n", 16));
  try {
    suppressions.add_file(file);
    FAIL() << "a NUL was accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("marked.supp:2: a NUL byte"), std::string::npos)
      << error.what();
  }
}

} // namespace
} // namespace gmt
