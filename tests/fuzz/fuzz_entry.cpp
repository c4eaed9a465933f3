// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry of one fuzzer: hands each input to the function that the build names.
#include GMT_FUZZ_HEADER

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gmt::test::GMT_FUZZ_FUNCTION(data, size);
  return 0;
}
