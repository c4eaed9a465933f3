// SPDX-License-Identifier: Apache-2.0
// The bodies of AnalysisTest, compiled once for all tests of findings.

#include "tests/unit/analyzer/support/analysis_fixture.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "analyzer/wording/wording.h"

namespace gmt::test {

void AnalysisTest::cuda_malloc(std::uint64_t address, std::uint64_t bytes, std::uint64_t from) {
  log().alloc({.api = "cuMemAlloc_v2", .via = "cudaMalloc", .stack = {from}}, MemoryKind::kDevice,
              address, bytes);
}

void AnalysisTest::cuda_malloc_host(std::uint64_t address, std::uint64_t bytes,
                                    std::uint64_t from) {
  log().alloc({.api = "cuMemHostAlloc", .via = "cudaMallocHost", .stack = {from}},
              MemoryKind::kPinned, address, bytes);
}

void AnalysisTest::cuda_free(std::uint64_t address, std::uint16_t code, std::uint64_t from) {
  log().release({.api = "cuMemFree_v2", .via = "cudaFree", .result = code, .stack = {from}},
                FreeFunction::kMemFree, address);
}

void AnalysisTest::cuda_memcpy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                               std::uint16_t code, Side to_side, Side from_side) {
  log().copy({.api = "cuMemcpyHtoD_v2", .via = "cudaMemcpy", .result = code, .stack = {0x300}}, to,
             from, bytes, to_side, from_side);
}

namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_marked(const Text& text, std::size_t at) {
  return std::ranges::any_of(text.marks(),
                             [at](const Text::Mark& mark) { return mark.begin == at; });
}

// A call that stands in a message as a plain word keeps the driver's name in a program with a
// static runtime.
void expect_calls_are_marked(const Finding& finding) {
  const std::string& words = finding.message.recorded();
  for (const FindingStack& stack : finding.stacks) {
    if (!stack.api.starts_with("cu")) continue;
    for (std::size_t at = 0; (at = words.find(stack.api, at)) != std::string::npos; ++at) {
      const std::size_t end = at + stack.api.size();
      const bool is_whole = (at == 0 || !is_word_character(words[at - 1])) &&
                            (end == words.size() || !is_word_character(words[end]));
      EXPECT_TRUE(!is_whole || is_marked(finding.message, at))
        << "not a CallName: " << stack.api << " in " << words;
    }
  }
}

} // namespace

WordedAnalysis::WordedAnalysis(Analysis analysis) : Analysis(std::move(analysis)) {
  for (const Finding& finding : Analysis::findings) expect_calls_are_marked(finding);
  for (Finding& finding : Analysis::findings) findings.push_back(in_words(std::move(finding), {}));
  Analysis::findings.clear();
}

const WordedAnalysis& AnalysisTest::run() {
  trace.write(directory.path() / "trace");
  result = analyze(directory.path() / "trace", options);
  std::erase_if(result.findings, [&](const ReportedFinding& f) { return !is_expected(f.kind); });
  return result;
}

bool AnalysisTest::is_expected(const std::string& kind) const {
  return expected_kinds_.empty() || std::ranges::count(expected_kinds_, kind) != 0;
}

const ReportedFinding* AnalysisTest::find(const std::string& kind) const {
  const auto found = std::ranges::find(result.findings, kind, &ReportedFinding::kind);
  return found == result.findings.end() ? nullptr : &*found;
}

std::string AnalysisTest::kinds() const {
  std::string all;
  for (const ReportedFinding& f : result.findings) {
    if (expected_kinds_.empty() && f.kind == "unused") continue;
    all += (all.empty() ? "" : " ") + f.kind;
  }
  return all;
}

bool AnalysisTest::is_not_checked(const std::string& what, const std::string& part) const {
  return std::ranges::any_of(result.not_checked, [&](const NotChecked& n) {
    return n.what == what && n.why.find(part) != std::string::npos;
  });
}

std::string AnalysisTest::labels(const ReportedFinding& f) {
  std::string all;
  for (const LabelledStack& s : f.stacks) all += (all.empty() ? "" : "|") + s.label;
  return all;
}

std::uint64_t AnalysisTest::address_of(const CallStack& stack) const {
  const auto frames = result.stacks.frames(stack.stack);
  return frames.empty() ? 0 : frames[0];
}

} // namespace gmt::test
