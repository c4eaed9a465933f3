// SPDX-License-Identifier: Apache-2.0
// Handles and their settings, and the launch of a kernel.
#include "simulated_cuda/cublas/blas.h"

#include <dlfcn.h>

#include <new>

extern "C" const char gmt_blas_kernels[];

namespace gmt::blas {
namespace {

constexpr int kVersion = 130000; // of cuBLAS, as cublasGetVersion has it
constexpr std::size_t kResultBytes = 16;

} // namespace

bool has_context() {
  CUcontext context = nullptr;
  if (cuInit(0) != CUDA_SUCCESS || cuCtxGetCurrent(&context) != CUDA_SUCCESS) return false;
  if (context != nullptr) return true;
  return cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
         cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

Status not_supported(const char* function) {
  using Refuse = void (*)(const char* function);
  static const auto refuse =
    reinterpret_cast<Refuse>(dlsym(RTLD_DEFAULT, "gpumemtrace_refuse_call"));
  if (refuse != nullptr) refuse(function);
  return Status::kNotSupported;
}

Status launch(Handle& handle, const std::string& kernel, unsigned x, unsigned y, unsigned z,
              unsigned threads_x, unsigned threads_y, void* arguments) {
  if (!has_context()) return Status::kNotInitialized;
  CUfunction function = nullptr;
  {
    const std::lock_guard lock(handle.kernels_mutex);
    CUfunction& known = handle.kernels[kernel];
    if (known == nullptr &&
        cuModuleGetFunction(&known, handle.module, kernel.c_str()) != CUDA_SUCCESS)
      return Status::kInternalError;
    function = known;
  }
  void* parameters[] = {arguments};
  const CUresult result = cuLaunchKernel(function, x, y, z, threads_x, threads_y, 1, 0,
                                         handle.stream, parameters, nullptr);
  return result == CUDA_SUCCESS ? Status::kSuccess : Status::kExecutionFailed;
}

} // namespace gmt::blas

using gmt::blas::Handle;
using gmt::blas::PointerMode;
using gmt::blas::Status;

extern "C" {

Status cublasCreate_v2(Handle** made) {
  using namespace gmt::blas;
  if (made == nullptr) return Status::kInvalidValue;
  if (!has_context()) return Status::kNotInitialized;
  auto* handle = new (std::nothrow) Handle;
  if (handle == nullptr) return Status::kAllocFailed;
  const bool is_ready =
    cuModuleLoadData(&handle->module, gmt_blas_kernels) == CUDA_SUCCESS &&
    cuMemHostAlloc(&handle->result, kResultBytes, CU_MEMHOSTALLOC_DEVICEMAP) == CUDA_SUCCESS &&
    cuMemHostGetDevicePointer(&handle->result_on_device, handle->result, 0) == CUDA_SUCCESS;
  if (!is_ready) {
    delete handle;
    return Status::kAllocFailed;
  }
  *made = handle;
  return Status::kSuccess;
}

// Waits for the device, as cuBLAS's documentation says: the program may have destroyed the stream.
Status cublasDestroy_v2(Handle* handle) {
  if (handle == nullptr) return Status::kNotInitialized;
  cuCtxSynchronize();
  cuMemFreeHost(handle->result);
  cuModuleUnload(handle->module);
  delete handle;
  return Status::kSuccess;
}

Status cublasSetStream_v2(Handle* handle, CUstream stream) {
  if (handle == nullptr) return Status::kNotInitialized;
  handle->stream = stream;
  return Status::kSuccess;
}
Status cublasGetStream_v2(Handle* handle, CUstream* stream) {
  if (handle == nullptr) return Status::kNotInitialized;
  *stream = handle->stream;
  return Status::kSuccess;
}
Status cublasSetPointerMode_v2(Handle* handle, PointerMode mode) {
  if (handle == nullptr) return Status::kNotInitialized;
  handle->pointer_mode = mode;
  return Status::kSuccess;
}
Status cublasGetPointerMode_v2(Handle* handle, PointerMode* mode) {
  if (handle == nullptr) return Status::kNotInitialized;
  *mode = handle->pointer_mode;
  return Status::kSuccess;
}

// Settings that change no result here.
#define GMT_SETTING(name, member)                                                                  \
  Status cublasSet##name(Handle* handle, int value) {                                              \
    if (handle == nullptr) return Status::kNotInitialized;                                         \
    handle->member = value;                                                                        \
    return Status::kSuccess;                                                                       \
  }                                                                                                \
  Status cublasGet##name(Handle* handle, int* value) {                                             \
    if (handle == nullptr) return Status::kNotInitialized;                                         \
    *value = handle->member;                                                                       \
    return Status::kSuccess;                                                                       \
  }
GMT_SETTING(MathMode, math_mode)
GMT_SETTING(AtomicsMode, atomics_mode)
GMT_SETTING(SmCountTarget, processors)

Status cublasSetWorkspace_v2(Handle* handle, void*, std::size_t) {
  return handle == nullptr ? Status::kNotInitialized : Status::kSuccess;
}

Status cublasGetVersion_v2(Handle*, int* version) {
  *version = gmt::blas::kVersion;
  return Status::kSuccess;
}
Status cublasGetProperty(int which, int* value) {
  if (which < 0 || which > 2) return Status::kInvalidValue;
  *value = which == 0 ? gmt::blas::kVersion / 10000 : 0;
  return Status::kSuccess;
}
std::size_t cublasGetCudartVersion() { return 13000; }

const char* cublasGetStatusName(Status status) {
  switch (status) {
  case Status::kSuccess: return "CUBLAS_STATUS_SUCCESS";
  case Status::kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
  case Status::kAllocFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
  case Status::kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
  case Status::kMappingError: return "CUBLAS_STATUS_MAPPING_ERROR";
  case Status::kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
  case Status::kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
  case Status::kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "an unknown status";
}
const char* cublasGetStatusString(Status status) { return cublasGetStatusName(status); }

} // extern "C"
