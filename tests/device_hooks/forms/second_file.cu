// SPDX-License-Identifier: Apache-2.0
// The second file of every_call.cu's program: both bring the same inline functions, operators and
// variable.
#include <cstdlib>

__device__ void* allocate_elsewhere(std::size_t bytes) { return malloc(bytes); }

__global__ void in_second_file(int** out) {
  out[0] = new int;
  delete out[1];
}

int host_part_elsewhere() {
  free(malloc(4));
  delete new int;
  return 0;
}
