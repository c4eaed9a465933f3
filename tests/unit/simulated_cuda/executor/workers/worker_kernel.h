// SPDX-License-Identifier: Apache-2.0
// Kernels for several workers: the head that all have, and what was reported as text.
#pragma once

#include "tests/unit/simulated_cuda/executor/support/kernel_runner.h"

#include <sstream>
#include <string>
#include <thread>

namespace gmt::executor {

// %x0 and %x1: the parameters; %r0: thread, %r1: block, %r2: blocks, %r3: number of the thread in
// the grid, %x3: the same in 64 bits.
inline std::string worker_kernel(const std::string& statements, const std::string& before = "") {
  return before +
         ".visible .entry k(.param .u64 p, .param .u64 q) {\n"
         ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<24>; .reg .b64 %x<16>;\n"
         "ld.param.u64 %x0, [p]; ld.param.u64 %x1, [q]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"
         "mov.u32 %r2, %nctaid.x; mov.u32 %r20, %ntid.x; mad.lo.u32 %r3, %r1, %r20, %r0;\n"
         "cvt.u64.u32 %x3, %r3;\n" +
         statements + "\nret; }\n";
}

// Everything is heard of in the thread that runs the launch.
struct OneThread : Recorder {
  void heap_event(const HeapEvent& e) override {
    is_right &= std::this_thread::get_id() == here;
    Recorder::heap_event(e);
  }
  void print(const std::string& text) override {
    is_right &= std::this_thread::get_id() == here;
    Recorder::print(text);
  }
  bool progress(std::uint64_t, std::uint64_t, double) override {
    is_right &= std::this_thread::get_id() == here;
    return go_on;
  }
  const std::thread::id here = std::this_thread::get_id();
  bool is_right = true, go_on = true;
};

inline std::string in_words(const Recorder& recorder) {
  std::ostringstream text;
  const auto location = [&](const Location& p) {
    text << " '" << p.instruction << "' block " << p.block.x << " thread " << p.thread.x;
  };
  for (const Report& report : recorder.reports) {
    text << static_cast<int>(report.kind) << " x" << report.count << std::hex << " at "
         << report.address << std::dec << " gpu " << report.gpu_error;
    location(report.location);
    if (report.has_other) location(report.other);
    text << "\n";
  }
  return text.str() + recorder.errors;
}

} // namespace gmt::executor
