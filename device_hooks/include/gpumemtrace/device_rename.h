// SPDX-License-Identifier: Apache-2.0
// From here on malloc, free and __nv_aligned_device_malloc are the logged ones, also as members of
// std. Included last by device.h. After an #undef it can be included again.
#include "gpumemtrace/device_calls.h"

namespace std {
using ::gpumemtrace_free;
using ::gpumemtrace_malloc;
} // namespace std

#undef malloc
#undef free
#define malloc gpumemtrace_malloc
#define free gpumemtrace_free
#if defined(__NVCC__)
#undef __nv_aligned_device_malloc
#define __nv_aligned_device_malloc gpumemtrace_aligned_malloc
#endif
