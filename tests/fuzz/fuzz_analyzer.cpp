// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: clang only. Make a corpus with `analyzer_fuzz_driver --write-seed
// CORPUS/seed`, then
//   analyzer_fuzz -max_len=65536 CORPUS

#include "fuzz_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gmt::test::analyze_input(data, size);
  return 0;
}
