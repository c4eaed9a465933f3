// SPDX-License-Identifier: Apache-2.0
// Declarations of the functions that implement runtime exports, made from runtime_api.def with the
// vendor's own types. Each file that defines one of them includes this, so that a definition that
// differs from the header does not link.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"
#include "simulated_cuda/runtime/export.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <vector_types.h>

#include <cstddef>
#include <type_traits>

// What nvcc's generated code calls: declared in crt/ headers that only nvcc may include.
extern "C" {
void** __cudaRegisterFatBinary(void* image);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int limit, uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warp);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int ext,
                       std::size_t size, int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int ext,
                              std::size_t size, int constant, int global);
void __cudaRegisterHostVar(void** handle, const char* name, char* host, std::size_t size);
void __cudaRegisterUnifiedTable(void** handle, const void* table);
char __cudaInitModule(void** handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     struct CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream);
}

namespace gmt::sim {

#define RT(name, implementation) std::remove_pointer_t<decltype(&::name)> implementation;
#define RT_PTDS(name, implementation) RT(name, implementation)
#define RT_PTSZ(name, implementation) RT(name, implementation)
#define RT_PLAIN(name, implementation) RT(name, implementation)
#define RT_DEVICE(name, member)
#define RT_FORWARD(name, member)
#define RT_FORWARD_PTSZ(name, member)
#include "simulated_cuda/runtime/runtime_api.def"
#undef RT
#undef RT_PTDS
#undef RT_PTSZ
#undef RT_PLAIN
#undef RT_DEVICE
#undef RT_FORWARD
#undef RT_FORWARD_PTSZ

} // namespace gmt::sim
