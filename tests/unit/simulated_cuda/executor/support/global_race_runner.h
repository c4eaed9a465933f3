// SPDX-License-Identifier: Apache-2.0
// Kernels of a few statements over two arrays, and the races in global memory that are found.
#pragma once

#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {

struct Found {
  std::size_t errors = 0, notes = 0;
  bool operator==(const Found&) const = default;
};

class GlobalRaceRunner : public KernelRunner {
protected:
  // %r0 is the thread, %r1 its block, %r2 its number in the grid; %x0 and %x1 are two arrays of
  // 4,096 zeros, %x2 and %x3 the thread's own words of them. %p0 is the first thread of a block,
  // %p1 the block 0.
  void load_kernel(const std::string& statements) {
    load(".shared .align 8 .b8 s[64];\n"
         ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
         ".reg .pred %p<12>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %x<16>;\n"
         "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
         "mov.u32 %r1, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r2, %r1, %r3, %r0;\n"
         "mad.wide.u32 %x2, %r2, 4, %x0; mad.wide.u32 %x3, %r2, 4, %x1;\n"
         "mov.u32 %r4, %nctaid.x; setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0;\n" +
         statements + "\nE: ret; }\n");
  }
  Found launch(Extent grid, Extent block) {
    recorder_.reports.clear();
    const std::uint64_t a = put(std::vector<std::uint32_t>(4096)),
                        b = put(std::vector<std::uint32_t>(4096));
    EXPECT_EQ(run(grid, block, {a, b}).end, End::kDone);
    Found found;
    for (const Report& report : recorder_.reports) {
      EXPECT_EQ(report.kind, ReportKind::kGlobalRace) << report.location.instruction;
      (report.message.empty() ? found.errors : found.notes) += 1;
    }
    return found;
  }
  Found races(const std::string& statements, Extent grid = {4}, Extent block = {64}) {
    load_kernel(statements);
    return launch(grid, block);
  }
  // In several orders and by two workers nothing is found.
  void expect_silent(const std::string& statements, Extent grid = {4}, Extent block = {64}) {
    load_kernel(statements);
    for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
      for (const unsigned workers : {1u, 2u}) {
        seed_ = seed;
        workers_ = workers;
        const Found found = launch(grid, block);
        EXPECT_EQ(found, Found{}) << "seed " << seed << ", workers " << workers << ": "
                                  << (recorder_.reports.empty()
                                        ? ""
                                        : recorder_.reports[0].location.instruction + " and " +
                                            recorder_.reports[0].other.instruction);
      }
    }
    seed_ = 0;
    workers_ = 1;
  }
};

} // namespace gmt::executor
