// SPDX-License-Identifier: Apache-2.0
// What tests of findings share: a trace to fill, shorthands for the usual calls, and the analysis
// of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/analysis/analysis.h"
#include "analyzer/model/reported_finding.h"
#include "tests/unit/analyzer/support/trace_writer.h"

namespace gmt::test {

using trace::FreeFunction;
using trace::Kind;
using trace::MemoryKind;
using trace::Side;

inline constexpr std::uint64_t kA = 0x7f32a0000000, kB = 0x7f32b0000000, kC = 0x7f32c0000000;
inline constexpr std::uint64_t kHost = 0x55d000001000;
inline constexpr std::uint64_t kMiB = 1 << 20;

// What analyze() gives, with its findings in words: no symbols are known, so calls have the names
// that were recorded.
struct WordedAnalysis : Analysis {
  WordedAnalysis() = default;
  WordedAnalysis(Analysis analysis);
  std::vector<ReportedFinding> findings; // instead of those without words
};

class AnalysisTest : public testing::Test {
protected:
  // The calls as the runtime makes them: the driver's symbol under the runtime's name. Stacks are
  // one address.
  void cuda_malloc(std::uint64_t address, std::uint64_t bytes, std::uint64_t from = 0x100);
  void cuda_malloc_host(std::uint64_t address, std::uint64_t bytes, std::uint64_t from = 0x110);
  void cuda_free(std::uint64_t address, std::uint16_t code = 0, std::uint64_t from = 0x200);
  void cuda_memcpy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                   std::uint16_t code = 0, Side to_side = Side::kDevice,
                   Side from_side = Side::kHost);
  LogWriter& log(std::size_t number = 0) { return trace.log(number); }

  // From now on run() keeps findings of these kinds alone, so that a test says nothing about other
  // detectors.
  void expect_only(std::vector<std::string> kinds) { expected_kinds_ = std::move(kinds); }
  const WordedAnalysis& run();

  const ReportedFinding* find(const std::string& kind) const;
  // "double-free leak", in order of first example. Most tests allocate for show: `unused` is left
  // out, unless expect_only() names it.
  std::string kinds() const;
  bool is_not_checked(const std::string& what, const std::string& part = "") const;
  // "freed again here|first freed here|allocated here"
  static std::string labels(const ReportedFinding& f);
  std::uint64_t address_of(const CallStack& stack) const;

  TraceWriter trace;
  AnalysisOptions options; // run()'s
  TemporaryDirectory directory;
  WordedAnalysis result;

private:
  bool is_expected(const std::string& kind) const;

  std::vector<std::string> expected_kinds_; // empty: all
};

} // namespace gmt::test
