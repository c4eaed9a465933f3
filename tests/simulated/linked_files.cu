// SPDX-License-Identifier: Apache-2.0
// A program of two files that are linked for the device, with things of the same names in both.
// Prints what kernels print, and "right" once for each file.
#define NUMBER 1
#include "linked_files.h"

bool other_is_right();

int main() {
  std::printf("first: %s\n", is_right() ? "right" : "wrong");
  std::printf("second: %s\n", other_is_right() ? "right" : "wrong");
  return cudaGetLastError();
}
