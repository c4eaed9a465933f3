// SPDX-License-Identifier: Apache-2.0
// Kernels that read memory which nothing wrote, with tracked registers from the start or from the
// first such load on.
#pragma once

#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

namespace gmt::executor {

class TrackingRunner : public KernelRunner, public testing::WithParamInterface<Checks> {
protected:
  TrackingRunner() { checks_ = GetParam(); }
  static std::string kernel(const std::string& statements, const std::string& before = "") {
    return before +
           ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
           ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %x<16>;\n"
           ".local .align 8 .b8 own[64];\n"
           "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x;\n"
           "mad.wide.u32 %x2, %r0, 4, %x0; mad.wide.u32 %x3, %r0, 4, %x1;\n" +
           statements + "\nret; }\n";
  }
  // %x2 leads to a word of written memory, %x3 to one that nothing wrote.
  void run_with_words(const std::string& statements, const std::string& before = "") {
    recorder_.reports.clear();
    load(kernel(statements, before));
    written_ = put(std::vector<std::uint32_t>(32, 1));
    unwritten_ = allocate(128);
    EXPECT_EQ(run({1}, {32}, {written_, unwritten_}).end, End::kDone);
  }
  bool is_full() const { return GetParam() == Checks::kFull; }
  std::uint64_t written_ = 0, unwritten_ = 0;
};

} // namespace gmt::executor
