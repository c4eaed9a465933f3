// SPDX-License-Identifier: Apache-2.0
// Expands the table with types: one Entry per row, and the array that the stubs of exports/stubs.S
// jump through. The vendor's headers rename names (cuMemAlloc to cuMemAlloc_v2): row arguments are
// used with # and ## only.
#define __CUDA_API_VERSION_INTERNAL // the oldest driver types too
#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "interposer/hooks/entry.h"
#include "interposer/loader/rows.h"

// Entry points that nvcc's generated code calls; crt/host_runtime.h declares them for that code
// alone.
extern "C" {
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, std::size_t, cudaStream_t);
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, std::size_t, int, int);
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int);
}

namespace gmt::interposer {

#pragma GCC diagnostic push
// They are hooked as long as they are exported
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// What dlsym, cuGetProcAddress and the stubs hand out, by row.
extern "C" __attribute__((visibility("hidden"))) void* const gmt_entries[trace::kApiCount];
extern "C" void* const gmt_entries[trace::kApiCount] = {
#define DRV(symbol, base, introduced, order, ...)                                                  \
  reinterpret_cast<void*>(                                                                         \
    &Entry<trace::kApi_##symbol, PFN_##base##_v##introduced, __VA_ARGS__>::call),
#define RT(symbol, declared, ...)                                                                  \
  reinterpret_cast<void*>(                                                                         \
    &RuntimeEntry<trace::kApi_##symbol, decltype(&::declared), __VA_ARGS__>::call),
#include "trace/cuda_api.def"
};
#pragma GCC diagnostic pop

void* entry_of(std::uint16_t row) noexcept { return gmt_entries[row]; }

// For rows whose signature only runtime 13 has: our entry if the caller's runtime is that, else the
// real function.
extern "C" __attribute__((visibility("hidden"))) void*
gmt_choose_runtime(std::uint64_t row, const void* caller) noexcept {
  const auto id = static_cast<std::uint16_t>(row);
  void* real = runtime_function(id, caller);
  return real != nullptr && is_of_runtime_13(real) ? entry_of(id) : real;
}

} // namespace gmt::interposer
