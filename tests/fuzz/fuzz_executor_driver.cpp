// SPDX-License-Identifier: Apache-2.0
// The executor on changed kernels: executor_fuzz_driver N [FOLDER...]

#include "tests/fuzz/fuzz_executor.h"
#include "tests/fuzz/ptx_driver.h"

#include <cstdio>
#include <string>
#include <utility>

namespace {

// Mostly text that can still be read.
std::string change(std::string input, gmt::test::Random& random) {
  if (random() % 8 == 0) return gmt::test::damage(std::move(input), random);
  return gmt::test::change_code(std::move(input), random);
}

} // namespace

int main(int argc, char** argv) {
  const int status = gmt::test::drive_ptx(argc, argv, gmt::test::execute_ptx_input, change);
  std::printf("%llu kernels ran\n", static_cast<unsigned long long>(gmt::test::executed_kernels()));
  // Changes that no kernel survives would test nothing.
  return gmt::test::executed_kernels() == 0 ? 1 : status;
}
