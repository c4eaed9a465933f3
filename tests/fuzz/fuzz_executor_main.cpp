// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry: clang only. executor_fuzz -max_len=32768 -dict=tests/fuzz/ptx.dict
// tests/fuzz/executor_corpus

#include "tests/fuzz/fuzz_executor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gmt::test::execute_ptx_input(data, size);
  return 0;
}
