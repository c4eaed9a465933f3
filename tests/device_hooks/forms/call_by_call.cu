// SPDX-License-Identifier: Apache-2.0
// Single calls, by <gpumemtrace/device_calls.h>: what is called malloc or new stays as it is.
#include <gpumemtrace/device_calls.h>

__global__ void mixed(void** out) // 1 logged allocation and 1 logged free
{
  out[0] = malloc(5);
  out[1] = gpumemtrace_malloc(6);
  out[2] = new int;
  gpumemtrace_free(out[1]);
  free(out[0]);
}

int main() {
  gpumemtrace_free(gpumemtrace_malloc(5));
  return 0;
}
