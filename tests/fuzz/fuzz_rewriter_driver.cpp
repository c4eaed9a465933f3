// SPDX-License-Identifier: Apache-2.0
// The rewriter on damaged text: rewriter_fuzz_driver N [FOLDER...]

#include "tests/fuzz/fuzz_rewriter.h"
#include "tests/fuzz/ptx_driver.h"

int main(int argc, char** argv) {
  return gmt::test::drive_ptx(argc, argv, gmt::test::rewrite_ptx_input, gmt::test::damage);
}
