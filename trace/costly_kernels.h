// SPDX-License-Identifier: Apache-2.0
// Kernels that CUPTI takes many seconds to patch: the recorder leaves them out of its windows, and
// the report says so. NCCL's call functions through tables, so that CUPTI patches nearly all of
// NCCL for each: 3 to 24 s a kernel, and 23 s for all at once (H200, driver 580). They are known by
// their names, as linked, also in programs that NCCL is linked into.
#pragma once

#include <cstring>

namespace gmt::trace {

// ncclDevKernel_*; before NCCL 2.19 ncclKernel_*.
inline bool is_costly_kernel(const char* linked) noexcept {
  return std::strstr(linked, "ncclDevKernel") != nullptr ||
         std::strstr(linked, "ncclKernel") != nullptr;
}

} // namespace gmt::trace
