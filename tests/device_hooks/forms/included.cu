// SPDX-License-Identifier: Apache-2.0
// <gpumemtrace/device.h> as the file's own first include.
#include <gpumemtrace/device.h>

#include <vector>

__global__ void both(void** out) // 1 and 1
{
  out[0] = malloc(5);
  free(out[0]);
}

int main() {
  free(malloc(std::vector<int>(3).size()));
  return 0;
}
