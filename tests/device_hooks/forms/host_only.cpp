// SPDX-License-Identifier: Apache-2.0
// A file of the host that gets the forced include too.
#include <cstdlib>

#if defined(malloc) || defined(GPUMEMTRACE_DEVICE_H)
#error "a host file must be left alone"
#endif

int main() {
  std::free(std::malloc(3));
  return 0;
}
