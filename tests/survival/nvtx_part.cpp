// SPDX-License-Identifier: Apache-2.0
// A library with an NVTX of its own.
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) void nvtx_part(void (*inside)()) {
  nvtxRangePushA("library");
  inside();
  nvtxRangePop();
}
