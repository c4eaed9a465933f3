// SPDX-License-Identifier: Apache-2.0
// Launches of kernels with arguments of all kinds, and the verdict on them.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

inline constexpr std::uint64_t kSum = 0x900, kOther = 0x910; // functions
inline constexpr std::uint64_t kBehind = kA + kMiB;          // the block behind kA's

class Arguments : public AnalysisTest {
protected:
  void SetUp() override {
    expect_only({"use-after-free"});
    trace.format = "1.5";
    kernel(kSum, "_Z3sumPKfS0_m", {8, 8, 8}); // sum(float const*, float const*, unsigned long)
    cuda_malloc(kA, kMiB, 0x100);
  }
  void kernel(std::uint64_t function, const std::string& name,
              const std::vector<std::uint64_t>& sizes) {
    std::vector<std::uint64_t> layout;
    std::uint32_t offset = 0;
    for (const std::uint64_t bytes : sizes) {
      layout.push_back(trace::pack_halves({offset, static_cast<std::uint32_t>(bytes)}));
      offset += static_cast<std::uint32_t>(bytes);
    }
    log().record({}, Made<trace::KernelFields>().function(function).parameter_count(sizes.size()),
                 layout);
    log().name(function, name);
  }
  struct Argument {
    std::uint64_t value;
    unsigned parameter;
  };
  void launch(const std::vector<Argument>& arguments, std::uint64_t function = kSum,
              std::uint16_t code = 0) {
    std::vector<std::uint64_t> words{function, 0, 1, 1};
    for (const auto& [value, parameter] : arguments)
      words.push_back(trace::argument_word(value, parameter));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .result = code,
                  .stack = {from_},
                  .flags = trace::kLaunchScanned},
                 words);
  }
  std::uint64_t from_ = 0x400; // where launches are
  // A block behind kA's that is gone.
  void free_behind(std::uint64_t bytes = kMiB) {
    cuda_malloc(kBehind, bytes, 0x101);
    cuda_free(kBehind, 0, 0x201);
  }
  // "warning 2", severity and count of the only finding; empty without one.
  std::string verdict() {
    run();
    if (result.findings.empty()) return {};
    EXPECT_EQ(kinds(), "use-after-free");
    const ReportedFinding& f = result.findings[0];
    return (f.severity == Severity::kError ? "error " : "warning ") + std::to_string(f.count);
  }
};

} // namespace gmt::test
