// SPDX-License-Identifier: Apache-2.0
// Which registers instructions read and write.
#include "ptx/flow/accesses.h"

#include <gtest/gtest.h>

#include "tests/unit/ptx/support/ptx_text.h"

namespace gmt::ptx {
namespace {

constexpr const char* kRegisters =
  ".reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .pred %p<9>; .reg .b16 %rs<9>;\n";

TEST(PtxAccesses, WhatInstructionsWrite) {
  std::string text = kRegisters;
  text += "st.u32 [%rd1], %r1;\nbar.sync %r1, %r2;\nbar.red.popc.u32 %r1, 0, %p1;\n"
          "red.global.add.u32 [%rd1], %r1;\natom.add.u32 %r1, [%rd1], %r2;\n"
          "call (%r1), k, (%r2, %rd1);\ncall k, (%r3, %rd1);\nsetp.eq.u32 %p1|%p2, %r1, %r2;\n"
          "mbarrier.init.b64 [%rd1], %r1;\n@%p1 mov.u32 %r1, %r2;\nnanosleep.u32 %r1;";
  const test::Kernel kernel(text);
  const std::vector<std::size_t> writes = {0, 0, 1, 0, 1, 1, 0, 2, 0, 1, 0};
  const std::vector<std::size_t> reads = {2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 1};
  for (std::size_t i = 0; i < writes.size(); ++i) {
    Accesses found;
    accesses_of(kernel.body, kernel.body.instructions[i], found);
    EXPECT_EQ(found.writes.size(), writes[i]) << kernel.mnemonic(i);
    EXPECT_EQ(found.reads.size(), reads[i]) << kernel.mnemonic(i);
  }
}

} // namespace
} // namespace gmt::ptx
