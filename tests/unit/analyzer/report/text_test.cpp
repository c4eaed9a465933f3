// SPDX-License-Identifier: Apache-2.0
// The text report: its wording and layout are an interface, people and scripts read them. Its
// tables: text_tables_test.cpp.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/report/made_up_accesses.h"
#include "tests/unit/analyzer/report/text_of.h"

namespace gmt {
namespace {

using test::expect_contains;
using test::last_line;
using test::text_of;

TEST(ReportText, ShowsTheWholeStoryOfAnOrdinaryReport) {
  EXPECT_EQ(text_of(test::ordinary()), R"(gpumemtrace 0.1.0   ./train --epochs 1
  pid 4711   2 threads   8,412 events   ended: killed by SIGKILL

error    double-free             2 times, 1.0 MiB
  cudaFree of 0x7f0000000000, which had been freed already (1.0 MiB, cudaMalloc).
    freed again here   /src/train.cu:85   destroy(Model*)
                       /src/train.cu:88   release_all()
                       /src/train.cu:120  main
    first freed here   /src/train.cu:71   step()
    allocated here     /src/train.cu:40   setup()
  Remove the second cudaFree, or set the pointer to null after the first.

error    leak                    64.0 MiB in 16 blocks
  16 blocks of device memory were never freed.
  first in range epoch 1
    allocated here, cudaMalloc   libloader.so.2+0x4568
                                 0x10
  Call cudaFree.

warning  unused                  4.0 KiB in 1 block
  Device memory was allocated and never touched.
    allocated here, cudaMallocAsync   (no call stack was recorded)

peak 1.2 GiB of device memory, in range epoch 2 / forward
in all, host memory included: allocated 9.8 GiB in 4,101 calls, live at end 64.0 MiB in 16 blocks
SUMMARY: gpumemtrace: 2 errors, 1 warning (1 double-free, 1 leak 64.0 MiB, 1 unused); killed by SIGKILL
)");
}

// A check whose files have everything is short.
TEST(ReportText, KeepsFindingsWithinSomeLines) {
  const auto lines_of_findings = [](const std::string& text) {
    const std::size_t end = text.find("not shown here");
    return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
  };
  const Report many = test::many(100);
  const std::string text = text_of(many, {.finding_lines = 40});
  EXPECT_LE(lines_of_findings(text), 40 + 4); // and the head
  expect_contains(text, "\nerror    double-free ");
  expect_contains(text, "96 more findings not shown here: the files below have all\n");
  expect_contains(text, "SUMMARY: gpumemtrace: 100 errors");
  // One finding that alone is too long loses outer frames
  Report deep = test::clean();
  deep.findings = {test::double_free()};
  deep.findings[0].stacks[0].frames.assign(60, test::frame("deep()", "/src/train.cu", 1));
  const std::string cut = text_of(deep, {.finding_lines = 40});
  expect_contains(cut, "outer frames not shown");
  EXPECT_LE(std::count(cut.begin(), cut.end(), '\n'), 40 + 6);
  EXPECT_EQ(text_of(many).find("not shown here"), std::string::npos);
}

TEST(ReportText, OnlyCountsWhatTheBaselineHas) {
  Report r = test::ordinary();
  r.findings[0].baseline = BaselineState::kKnown;
  r.findings[1].baseline = BaselineState::kGrown;
  const std::string text = text_of(r);
  EXPECT_EQ(text.find("double-free"), std::string::npos);
  expect_contains(text, "1 finding not shown: in the baseline\n");
  expect_contains(last_line(text),
                  "1 error, 1 warning (1 leak 64.0 MiB, 1 unused); 1 in the baseline");
}

TEST(ReportText, ShowsWhichThreadOfAKernelItWas) {
  const std::string text = text_of(test::with_kernels());
  const std::string indent(38, ' ');
  expect_contains(text, "    allocated here, malloc            /src/node.h:5    make_node\n" +
                          indent + "launch 3 of step(int*), block (0, 1, 0), thread (31, 0, 0)\n");
  expect_contains(text, "    freed here                        (line unknown)\n" + indent +
                          "block (0, 0, 0), thread (0, 0, 0)\n");
  expect_contains(text, "    launched here, cudaLaunchKernel   /src/train.cu:7  main\n");
}

TEST(ReportText, SaysPlainlyThatNothingIsWrong) {
  const std::string text = text_of(test::clean());
  expect_contains(text, "ended: exit status 0");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no errors");
}

TEST(ReportText, NeverTakesSilenceForHealth) {
  const std::string text = text_of(test::nothing_seen());
  expect_contains(text, "nothing was checked: no CUDA call was seen");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no CUDA call was seen, nothing was checked");
}

TEST(ReportText, NamesEveryLimitAndEveryLoss) {
  const std::string text = text_of(test::troubled());
  expect_contains(
    text, "gpumemtrace 0.1.0   ./train --epochs 1   3 processes   ended: killed by SIGKILL\n");
  expect_contains(
    text, "simulated device: no GPU took part; kernels were not run (300 launches skipped)");
  expect_contains(
    text, "\nprocess   ./train --epochs 1\n"
          "  pid 4712   2 threads   8,412 events   ended: replaced by another program (exec)\n");
  expect_contains(text, "ended: still running\n  no findings\n");
  expect_contains(text, "2 findings not shown: smaller than --min-bytes\n");
  expect_contains(text, "1 finding not shown: of kinds that were not asked for\n");
  expect_contains(
    text,
    "5 findings suppressed by 2 rules (known.supp: leak:libfoo* 4, known.supp: pitch-*:* 1)\n");
  expect_contains(text, "4 events lost (damaged in the trace 1, disk full or file size limit 3)");
  expect_contains(text, "2 records never finished");
  expect_contains(
    text, "not checked:\n  uncoalesced  needs --coalescing\n"
          "  symbols of /opt/lib/libloader.so.2: the file has changed since the recording\n");
  expect_contains(text, "\n'bash' was started without the checker\n");
  EXPECT_EQ(last_line(text),
            "SUMMARY: gpumemtrace: 2 errors, 1 warning, 1 note "
            "(1 double-free, 1 leak 64.0 MiB, 1 unused); 5 suppressed; 4 events lost; killed by "
            "SIGKILL");
}

TEST(ReportText, ProcessesWithoutFindingsAreOneLine) {
  Report report = test::clean();
  report.processes.push_back(test::process(4712));
  expect_contains(text_of(report), "\nno findings in 2 processes\n");
  report.findings = {test::leak()};
  expect_contains(text_of(report), "\nno findings in 1 other process\n");
  report.findings.push_back(test::double_free());
  report.findings[1].process = 1;
  const std::string text = text_of(report, {.limit = 1});
  // Held back is not the same as none
  EXPECT_EQ(text.find("no findings"), std::string::npos) << text;
}

ReportedFinding kept_by(const std::string& owner, std::uint64_t mib, std::uint64_t blocks,
                        unsigned frames) {
  ReportedFinding finding;
  finding.kind = "leak";
  finding.measure = Measure::kLostBlocks;
  finding.severity = Severity::kNote;
  finding.owner = owner;
  finding.bytes = mib << 20;
  finding.count = blocks;
  finding.owner_clause = "; " + owner + " keeps it";
  finding.message = "memory was never freed" + finding.owner_clause + ".";
  finding.advice = "Nothing to do, unless it grows from run to run.";
  std::vector<Frame> stack;
  for (unsigned i = 0; i < frames; ++i)
    stack.push_back(test::frame("f" + std::to_string(i), "/cache.cpp", 7));
  finding.stacks.push_back(test::stack("allocated here", "cudaMalloc", stack));
  return finding;
}

TEST(ReportText, ShowsInBriefWhatLibrariesKeep) {
  Report report = test::clean();
  const auto add = [&report](ReportedFinding finding, std::size_t process) {
    finding.process = process;
    report.findings.push_back(std::move(finding));
  };
  add(kept_by("PyTorch", 40, 3, 9), 0);
  add(kept_by("cuBLAS", 20, 1, 6), 0);
  add(kept_by("PyTorch", 2, 1, 1), 0);
  add(kept_by("PyTorch", 1, 2, 1), 0);
  const std::string text = text_of(report);
  expect_contains(text, R"(
note     leak                    43.0 MiB in 6 blocks
  43.0 MiB in 6 blocks, allocated at 3 places, was never freed; PyTorch keeps it.
    the largest allocated here, cudaMalloc   /cache.cpp:7  f0
                                             /cache.cpp:7  f1
                                             /cache.cpp:7  f2
                                             /cache.cpp:7  f3
                                             /cache.cpp:7  f4
                                             /cache.cpp:7  f5
                                             (3 outer frames not shown)
  Nothing to do, unless it grows from run to run.

note     leak                    20.0 MiB in 1 block
  memory was never freed; cuBLAS keeps it.
)");
  EXPECT_EQ(last_line(text), "SUMMARY: gpumemtrace: no errors, 4 notes");
  expect_contains(text_of(report, {.stack_depth = 128}), "f8\n");
}

TEST(ReportText, ShowsInBriefWhatLibrariesKernelsDo) {
  Report report = test::with_accesses();
  for (std::uint64_t i = 0; i < 12; ++i) {
    ReportedFinding finding = report.findings[0];
    finding.severity = Severity::kNote;
    finding.owner = i < 10 ? "cuBLASLt" : "cuDNN";
    finding.message = "access " + std::to_string(i);
    finding.advice = "Nothing to do.";
    report.findings.push_back(finding);
  }
  const std::string text = text_of(report);
  expect_contains(text, "access 0\n");
  EXPECT_EQ(text.find("access 1\n"), std::string::npos);
  expect_contains(
    text,
    "  Nothing to do. 9 other places in cuBLASLt's kernels of which the same is true are not shown:\n"
    "  --format json lists all.\n");
  expect_contains(text, "access 10\n");
  expect_contains(
    text,
    "  Nothing to do. 1 other place in cuDNN's kernels of which the same is true is not shown: --format\n"
    "  json lists all.\n");
}

TEST(ReportText, CountsWhatTheLimitHoldsBack) {
  const std::string text = text_of(test::ordinary(), {.limit = 1});
  EXPECT_EQ(text.find("error    leak"), std::string::npos);
  expect_contains(text, "2 more findings not shown: --limit 0 shows all\n");
  expect_contains(last_line(text), "2 errors, 1 warning"); // the verdict is about all of them
}

TEST(ReportText, CutsStacksToTheDepthAskedFor) {
  const std::string text = text_of(test::ordinary(), {.stack_depth = 1});
  EXPECT_EQ(text.find("release_all"), std::string::npos);
  expect_contains(text, "(2 outer frames not shown)\n");
}

TEST(ReportText, ColoursTheSeverityOnly) {
  const std::string plain = text_of(test::troubled());
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  std::string colored = text_of(test::troubled(), {.color = true});
  expect_contains(colored, "\033[1;31merror\033[0m    double-free");
  expect_contains(colored, "\033[1;33mwarning\033[0m  unused");
  expect_contains(colored, "\033[1;36mnote\033[0m     unfinished-call");
  for (std::size_t at = 0; (at = colored.find('\033')) != std::string::npos;) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  EXPECT_EQ(colored, plain);
}

TEST(ReportText, LetsNoNameSteerTheTerminal) {
  const std::string text = text_of(test::hostile());
  for (const char c : text) {
    EXPECT_TRUE(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f))
      << static_cast<int>(c);
  }
  EXPECT_EQ(last_line(text).rfind("SUMMARY: gpumemtrace: 2 errors", 0), 0u);
}

TEST(ReportText, StaysWithinAHundredColumns) {
  Report report = test::ordinary();
  std::string words = "word";
  for (int i = 0; i < 60; ++i) words += " another";
  report.findings[0].message = report.findings[0].advice = words;
  report.findings[0].stacks[0].frames[0].function =
    "std::map<std::string, std::vector<int>> ns::load<std::map<std::string, std::vector<int>>, "
    "std::allocator<int>>"
    "(std::map<std::string, std::vector<int>> const&, unsigned long)";
  report.remarks = {words};
  report.not_checked = {{"uncoalesced", words}};
  report.processes[0].arguments.assign(40, "argument");
  std::istringstream lines(text_of(report));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("SUMMARY:")) continue; // one line, whatever is in it
    EXPECT_LE(line.size(), 100u) << line;
  }
}

} // namespace
} // namespace gmt
