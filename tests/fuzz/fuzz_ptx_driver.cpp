// SPDX-License-Identifier: Apache-2.0
// The parser on damaged text: ptx_fuzz_driver N [FOLDER...]

#include "tests/fuzz/fuzz_ptx.h"
#include "tests/fuzz/ptx_driver.h"

int main(int argc, char** argv) {
  return gmt::test::drive_ptx(argc, argv, gmt::test::parse_ptx_input, gmt::test::damage);
}
