// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: clang only. Unpack tests/executor/ptx into CORPUS, then
//   ptx_fuzz -max_len=65536 -dict=tests/fuzz/ptx.dict CORPUS tests/fuzz/ptx_corpus

#include "tests/fuzz/fuzz_ptx.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gmt::test::parse_ptx_input(data, size);
  return 0;
}
