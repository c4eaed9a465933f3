// SPDX-License-Identifier: Apache-2.0
// The text report of several ranks, and of stacks that lead through libraries.

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "analyzer/report/fingerprint.h"
#include "analyzer/report/output_format.h"
#include "tests/report/made_up_reports.h"

namespace gmt {
namespace {

std::string body_of(const Report& report, const OutputOptions& options = {}) {
  std::ostringstream out;
  for (const OutputInfo* output : outputs()) {
    if (output->id == "text") output->write(report, options, out);
  }
  return out.str();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++count;
  return count;
}

using test::ranks;

TEST(TextOfRanks, FindingsOfAllRanksAreOne) {
  const std::string text = body_of(ranks(8));
  EXPECT_EQ(count_of(text, "\nerror    leak"), 1u) << text;
  EXPECT_NE(text.find("\n  in 8 of 8 ranks\n"), std::string::npos) << text;
  EXPECT_NE(text.find("8 errors"), std::string::npos);
}

TEST(TextOfRanks, FindingsOfSomeRanksSayWhichAndHowMuchEach) {
  Report report = ranks(6);
  report.findings.erase(report.findings.begin() + 4);
  report.findings[1].bytes = 1 << 20;
  ReportedFinding own = test::double_free();
  own.process = 3;
  report.findings.push_back(own);
  const std::string text = body_of(report);
  EXPECT_NE(text.find("  in 5 of 6 ranks (rank 0 to 3, 5), 1.0 MiB to 64.0 MiB each\n"),
            std::string::npos)
    << text;
  EXPECT_EQ(count_of(text, "\nerror    leak"), 1u);
  // What one rank alone has stands under that rank.
  const std::size_t head = text.find("\nprocess   ./train --epochs 1   pid 4717");
  ASSERT_NE(head, std::string::npos) << text;
  EXPECT_GT(text.find("double-free"), head);
}

TEST(TextOfRanks, EqualFindingsOfOneRankStayApart) {
  Report report = ranks(2);
  report.findings.push_back(report.findings[0]);
  const std::string text = body_of(report);
  EXPECT_EQ(count_of(text, "\nerror    leak"), 2u) << text;
  EXPECT_EQ(count_of(text, "in 2 of 2 ranks"), 1u);
}

TEST(TextOfRanks, WithoutALauncherEqualCommandsBelongTogether) {
  Report report = ranks(3);
  for (ProcessReport& process : report.processes) process.rank.reset();
  report.processes[2].arguments = {"./other"};
  const std::string text = body_of(report);
  EXPECT_NE(text.find("\n  in 2 of 2 processes\n"), std::string::npos) << text;
  EXPECT_EQ(count_of(text, "\nerror    leak"), 2u);
}

TEST(TextOfRanks, ATableNamesThoseThatDiffer) {
  Report report = ranks(4);
  report.processes[2].totals.peak_bytes *= 3;
  const std::string text = body_of(report);
  EXPECT_NE(text.find("rank  "), std::string::npos);
  EXPECT_NE(text.find("  rank 2 differs: peak 3.6 GiB (median 1.2 GiB)\n"), std::string::npos)
    << text;
  EXPECT_EQ(count_of(text, " differs: "), 1u);
  EXPECT_EQ(body_of(report, {.tables = TableChoice::kNone}).find("differs"), std::string::npos);
}

TEST(TextOfRanks, ALongTableEndsWithWhereTheRestIs) {
  Report report = ranks(64);
  report.processes[63].totals.allocations = 9;
  const std::string text = body_of(report);
  EXPECT_NE(text.find("48 more rows not shown: --tables all shows all"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  63 "), std::string::npos); // those that differ are shown in any case
  EXPECT_LT(count_of(text, "\n"), 90u);
  EXPECT_EQ(body_of(report, {.tables = TableChoice::kAll}).find("more row"), std::string::npos);
}

TEST(TextOfRanks, OneScreenForACleanRun) {
  Report report = ranks(64);
  report.findings.clear();
  EXPECT_LE(count_of(body_of(report), "\n"), 50u);
  EXPECT_LE(count_of(body_of(test::clean()), "\n"), 24u);
}

Frame of_torch(const std::string& function) {
  Frame frame = test::frame(function, "", 0);
  frame.module = "/usr/lib/python3/dist-packages/torch/lib/libtorch_cuda.so";
  return frame;
}

ReportedFinding through_torch(std::size_t inside) {
  ReportedFinding finding = test::leak();
  std::vector<Frame> frames = {of_torch("c10::cuda::allocate()"), of_torch("c10::cuda::get()")};
  for (std::size_t i = 0; i < inside; ++i) frames.push_back(of_torch("at::inner()"));
  frames.push_back(of_torch("at::empty()"));
  frames.push_back(test::frame("step()", "/src/train.cu", 71));
  frames.push_back(test::frame("main", "/src/train.cu", 90));
  finding.stacks = {test::stack("allocated here", "cudaMalloc", frames)};
  return finding;
}

TEST(TextOfStacks, WhatLiesInsideALibraryIsCounted) {
  Report report = test::clean();
  report.findings = {through_torch(12)};
  const std::string text = body_of(report);
  EXPECT_NE(text.find("c10::cuda::get()\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" (12 frames of PyTorch)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("at::inner"), std::string::npos);
  EXPECT_LT(text.find("(12 frames"), text.find("at::empty()"));
  EXPECT_LT(text.find("at::empty()"), text.find("step()"));
  EXPECT_EQ(text.find("outer frame"), std::string::npos);
}

TEST(TextOfStacks, TheProgramsLineStandsFirstInTheStackOfATensor) {
  Report report = test::clean();
  report.findings = {through_torch(12)};
  report.findings[0].stacks[0].frames[0].module = "/opt/torch/lib/libc10_cuda.so";
  const std::string text = body_of(report);
  EXPECT_NE(text.find("allocated here, cudaMalloc   /src/train.cu:71"), std::string::npos) << text;
  EXPECT_LT(text.find("main"), text.find("(15 inner frames of PyTorch)")) << text;
  EXPECT_EQ(text.find("outer frame"), std::string::npos);
}

TEST(TextOfStacks, AFewFramesAndAskedForDepthsAreShown) {
  Report report = test::clean();
  report.findings = {through_torch(2)};
  EXPECT_EQ(count_of(body_of(report), "at::inner"), 2u);
  report.findings = {through_torch(12)};
  EXPECT_EQ(count_of(body_of(report, {.stack_depth = 128}), "at::inner"), 12u);
}

TEST(TextOfStacks, FramesOfTheUsersAreNeverCounted) {
  Report report = test::clean();
  report.findings = {test::leak()};
  std::vector<Frame> frames;
  for (int i = 0; i < 20; ++i)
    frames.push_back(test::frame("mine" + std::to_string(i), "/src/train.cu", 7));
  report.findings[0].stacks = {test::stack("allocated here", "cudaMalloc", frames)};
  const std::string text = body_of(report);
  EXPECT_EQ(count_of(text, "mine"), 20u);
  EXPECT_EQ(text.find("frames of"), std::string::npos);
}

} // namespace
} // namespace gmt
