// SPDX-License-Identifier: Apache-2.0
// Call stacks as text on pages of several widths: source lines with their carets, functions that
// are never lost, links.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/report/code_line.h"
#include "tests/report/made_up_reports.h"
#include "tests/unit/analyzer/report/text_of.h"

namespace gmt {
namespace {

using test::expect_contains;
using test::text_of;

Report with_code(std::string text, std::string function = "release_all()") {
  Report report = test::clean();
  report.findings = {test::double_free()};
  LabelledStack& stack = report.findings[0].stacks[0];
  stack.api = "cudaFree";
  stack.frames = {test::frame(std::move(function), "/src/train.cu", 88),
                  test::frame("main", "/src/train.cu", 120)};
  stack.code = code_line(stack, *own_frame(stack), std::move(text));
  return report;
}

std::size_t widest_line(const std::string& text) {
  std::istringstream in(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("SUMMARY")) widest = std::max(widest, line.size());
  }
  return widest;
}

TEST(ReportStacks, ShowTheLineOfTheProgramsOwnFrame) {
  expect_contains(text_of(with_code("CHECK(cudaFree(p)); // twice")), R"(
    freed again here   /src/train.cu:88   release_all()
                        | CHECK(cudaFree(p)); // twice
                        |       ^~~~~~~~
                       /src/train.cu:120  main
)");
  // What is called may be hidden by a macro
  expect_contains(text_of(with_code("RELEASE(p);")),
                  "| RELEASE(p);\n                        | ^\n");
}

TEST(ReportStacks, TheCaretStandsAtTheNameOfWhatWasCalled) {
  CallStack stack;
  stack.api = "cudaMalloc";
  stack.frames = {test::frame("std::make_unique<Tensor>(int)", "/usr/include/c++/memory", 1),
                  test::frame("Layer<4>::forward()", "/src/net.cu", 7)};
  ASSERT_EQ(own_frame(stack), 1u);
  const CodeLine code = code_line(stack, 1, "remake_unique(); x = std::make_unique<Tensor>(K);");
  EXPECT_EQ(code.text.substr(code.caret, code.length), "make_unique");
  EXPECT_GT(code.caret, 10u); // no part of another word
  stack.api = "cudaLaunchKernel";
  const CodeLine launch = code_line(stack, 1, "fill<<<1, 32>>>(p);", "void ns::fill<int>(int*)");
  EXPECT_EQ(launch.length, 4u);
  // Where nothing says which kernel it was
  const CodeLine refused = code_line(stack, 1, "int n = 4; ns::fill<int, 3> <<<n, 32>>>(p);");
  EXPECT_EQ(refused.text.substr(refused.caret, refused.length), "fill");
  EXPECT_EQ(code_line(stack, 1, "a<<<1, 1>>>(); b<<<1, 1>>>();").caret, 0u);
  stack.frames = {test::frame("cudaMalloc", "", 0)};
  EXPECT_EQ(own_frame(stack), std::nullopt);
}

// Once in a finding.
TEST(ReportStacks, LongLinesStandOnSeveral) {
  Report report =
    with_code("void release_all() { first(1, 2, 3); second(4); cudaFree(p); third(5); }");
  std::vector<LabelledStack>& stacks = report.findings[0].stacks;
  stacks.insert(stacks.begin() + 1, stacks[0]);
  const std::string text = text_of(report, {.width = 60});
  expect_contains(text, R"(
       | void release_all() { first(1, 2, 3); second(4);
       |     cudaFree(p); third(5); }
       |     ^~~~~~~~
)");
  expect_contains(text, "| ...");
}

TEST(ReportStacks, EndlessLinesKeepThePartWithTheCaret) {
  std::string front = "void release_all() { first(1, 2, 3); second(4, 5, 6); ";
  for (int i = 0; i < 6; ++i) front += "another_call_of(i, j, k); and_another_one_of(l, m, n); ";
  const std::string text =
    text_of(with_code(front + "cudaFree(p); third(7, 8, 9); }"), {.width = 60});
  std::istringstream in(text);
  std::string code, marks;
  while (std::getline(in, marks) && marks.find("| ") == std::string::npos) {
  }
  code = marks;
  std::getline(in, marks);
  const std::size_t caret = marks.find('^');
  ASSERT_NE(caret, std::string::npos) << text;
  EXPECT_EQ(code.substr(caret, 8), "cudaFree") << text;
  EXPECT_LE(code.size(), 60u);
  // A comment goes first
  expect_contains(text_of(with_code("cudaFree(p); // " + std::string(90, 'x'))),
                  "| cudaFree(p);\n");
}

// Neither a name in a comment that is cut off nor characters that are shown as '?' lead the caret
// behind the line's end.
TEST(ReportStacks, TheCaretStaysOnTheLine) {
  const std::string code = "release_all_of(" + std::string(110, 'x') + ");";
  const std::string text = text_of(with_code(code + " // " + std::string(90, 'y') + " cudaFree"));
  expect_contains(text, "| release_all_of(");
  expect_contains(text, "| ^\n");
  std::string marks;
  for (int i = 0; i < 100; ++i) marks += "\u200f";
  expect_contains(text_of(with_code(marks + " cudaFree(p);"), {.width = 60}), "?? cudaFree(p);\n");
}

TEST(ReportStacks, NoLineIsWiderThanTheTerminal) {
  for (const std::size_t width : {40u, 80u, 120u, 200u}) {
    Report report = with_code("cudaFree(p);");
    for (ReportedFinding& finding : test::ordinary().findings) report.findings.push_back(finding);
    const std::string text = text_of(report, {.width = width});
    EXPECT_LE(widest_line(text), width) << text;
    expect_contains(text, "cudaFree(p);");
    const std::string words =
      "p = f(" + std::string(width, 'x') + "); cudaFree(p); // the last one";
    EXPECT_LE(widest_line(text_of(with_code(words), {.width = width})), width);
  }
  expect_contains(text_of(with_code("cudaFree(p);"), {.width = 40}), R"(
    freed again here
      /src/train.cu:88   release_all()
       | cudaFree(p);
       | ^~~~~~~~
      /src/train.cu:120  main
)");
}

TEST(ReportStacks, AFunctionStandsWholeOnce) {
  const std::string name =
    "model::release_everything_of<std::vector<float>, 128>(std::vector<float> "
    "const&, std::map<int, float> const&, int, int)";
  Report report = with_code("cudaFree(p);", name);
  LabelledStack& stack = report.findings[0].stacks[0];
  stack.frames.push_back(stack.frames[0]);
  const auto times = [](const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(times(text_of(report), "in full: model::"), 1u) << text_of(report);
  EXPECT_EQ(times(text_of(report, {.width = 200}), "in full: "), 0u);
  EXPECT_EQ(times(text_of(report, {.width = 200}), name), 2u);
}

TEST(ReportStacks, FilesThatAreHereAreLinks) {
  const std::string file = std::string(::testing::TempDir()) + "linked file.cu";
  std::ofstream(file) << "x\n";
  Report report = with_code("cudaFree(p);");
  report.findings[0].stacks[0].frames[0].file = file;
  const std::string text = text_of(report, {.color = true, .links = true, .width = 200});
  expect_contains(text, "\033]8;;file://");
  expect_contains(text, "linked%20file.cu\033\\");
  const std::string plain = text_of(report, {.color = true});
  EXPECT_EQ(plain.find("\033]8"), std::string::npos);
  EXPECT_EQ(text_of(report).find('\033'), std::string::npos);
  std::filesystem::remove(file);
}

TEST(ReportLines, EditorsAndGithubGetALineForEachFinding) {
  Report report = test::ordinary();
  report.conclusion.signal = report.processes[0].ended.signal; // the program's end is no child's
  const std::string lines = test::written("gcc", report);
  expect_contains(lines, "/src/train.cu:85: error: cudaFree of 0x7f0000000000");
  expect_contains(lines, " [double-free]\n/src/train.cu:71: note: first freed here\n");
  const std::string commands = test::written("github", report, {.source_root = "/src"});
  expect_contains(commands,
                  "::error file=train.cu,line=85,title=double-free%3A 2 times%2C 1.0 MiB::");
  EXPECT_EQ(std::ranges::count(commands, '\n'), 3) << commands;
}

} // namespace
} // namespace gmt
