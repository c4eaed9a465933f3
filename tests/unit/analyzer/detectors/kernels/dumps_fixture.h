// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs' core dumps, as the trace has them, behind launches of kernels.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {

inline constexpr std::uint64_t kFill = 0x900, kOther = 0x910; // functions

class Dumps : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.5";
    expect_only({"kernel-out-of-bounds", "kernel-use-after-free", "kernel-misaligned",
                 "kernel-assert", "kernel-fault"});
    log().name(kFill, "_Z4fillPfi");
    log().name(kOther, "_Z5otherv");
    cuda_malloc(kA, 4000, 0x100);
  }
  void launch(std::uint64_t from = 0x400, std::uint64_t function = kFill,
              std::uint16_t context = 1) {
    log().record(
      Kind::kLaunch,
      {.api = "cuLaunchKernel", .via = "cudaLaunchKernel", .stack = {from}, .context = context},
      {function, 0, trace::pack_grid({4, 1, 1}), trace::pack_block_extents({256, 1, 1})});
  }
  // Of fill, with pointers among its arguments.
  void launch_with(const std::vector<std::uint64_t>& pointers, std::uint16_t context = 1) {
    std::vector<std::uint64_t> words{kFill, 0, trace::pack_grid({4, 1, 1}),
                                     trace::pack_block_extents({256, 1, 1})};
    for (unsigned i = 0; i < pointers.size(); ++i)
      words.push_back(trace::argument_word(pointers[i], i));
    log().record(Kind::kLaunch,
                 {.api = "cuLaunchKernel",
                  .via = "cudaLaunchKernel",
                  .stack = {0x400},
                  .context = context,
                  .flags = trace::kLaunchScanned},
                 words);
  }
  // Of fill(float*, int), which the grid 6 is of.
  std::string fault(unsigned exception, const std::string& evidence, const std::string& access,
                    const std::string& rest = "") {
    return "fault\t" + std::to_string(exception) + "\t" + evidence +
           "\t6\t_Z4fillPfi\t_Z4fillPfi\t130\t" + access + "\t1\t32\t0\t0\n" +
           "extents\t4\t1\t1\t256\t1\t1\nplace\t8\t_Z4fillPfi\tsrc/fill.cu\n" + rest;
  }
  static constexpr const char* kStore = "store\tglobal\t4";

  const ReportedFinding& only(const std::string& faults) {
    trace.write(directory.path());
    write_file(directory.path() / "core-dump", "dump\t300000\tNVIDIA H200\t-\n" + faults);
    Analysis analysis = analyze(directory.path(), options);
    std::erase_if(analysis.findings, [](const Finding& f) { return !f.fault; });
    result = WordedAnalysis(std::move(analysis));
    EXPECT_EQ(result.findings.size(), 1u);
    return result.findings.at(0);
  }
  // A fault names one line as its launch, by this address.
  void expect_only_launch(std::uint64_t address) {
    const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
    EXPECT_EQ(labels(f), "accessed here|launched here");
    EXPECT_EQ(address_of(f.stacks.at(1)), address);
  }
  static std::string lanes(unsigned first, unsigned count, std::uint64_t address, int stride) {
    char line[128];
    std::snprintf(line, sizeof line, "lanes\t1\t0\t0\t%u\t%u\t%llx\t%d\n", first, count,
                  static_cast<unsigned long long>(address), stride);
    return line;
  }
};

} // namespace gmt::test
