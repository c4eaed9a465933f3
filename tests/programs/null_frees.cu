// SPDX-License-Identifier: Apache-2.0
// Freeing nullptr is allowed everywhere and must not be reported.
//
// run:
// expect: silent
#include "answers.h"

int main()
{
  CHECK(cudaFree(nullptr));
  CHECK(cudaFreeHost(nullptr));
  CHECK(cudaFreeAsync(nullptr, nullptr));
  CHECK(cudaFreeArray(nullptr));
  CHECK(cudaDeviceSynchronize());
  return 0;
}
