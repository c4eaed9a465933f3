// SPDX-License-Identifier: Apache-2.0
// The simulated cuBLAS: functions of cuBLAS 13 whose work is done by kernels of its own PTX, which
// it launches as any program does. So the simulated device checks their accesses, orders them by
// streams, captures them in graphs and runs them late. What is not here answers
// CUBLAS_STATUS_NOT_SUPPORTED, and the report names it.
//
// Types are those of cuBLAS, by their numbers: the library is built without its headers.
#pragma once

#include "simulated_cuda/cublas/kernel_arguments.h"

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace gmt::blas {

enum class Status : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kMappingError = 11,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15,
};

enum class Operation : int { kNone = 0, kTranspose = 1, kConjugate = 2 };
enum class Side : int { kLeft = 0, kRight = 1 };
enum class Fill : int { kLower = 0, kUpper = 1 };
enum class Diagonal : int { kNonUnit = 0, kUnit = 1 };
enum class PointerMode : int { kHost = 0, kDevice = 1 };
enum class DataType : int { kF32 = 0, kF64 = 1, kF16 = 2, kS8 = 3, kS32 = 10, kBf16 = 14 };

// What a cublasHandle_t points to. It belongs to the context that was current when it was made.
struct Handle {
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  PointerMode pointer_mode = PointerMode::kHost;
  int math_mode = 0, atomics_mode = 0, processors = 0;
  void* result = nullptr; // of the host, mapped: where reductions leave their number
  CUdeviceptr result_on_device = 0;
  std::map<std::string, CUfunction> kernels;
  std::mutex kernels_mutex, result_mutex; // several threads may call with one handle
};

// Whether a context is current. As the runtime does, a thread without one gets the primary one of
// the first device.
bool has_context();

// The report names the call as one that the device does not implement.
Status not_supported(const char* function);

// Runs the kernel on the handle's stream. Its arguments are one structure.
Status launch(Handle& handle, const std::string& kernel, unsigned x, unsigned y, unsigned z,
              unsigned threads_x, unsigned threads_y, void* arguments);

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

template <class T> struct TypeName;
template <> struct TypeName<float> {
  static constexpr const char* value = "f32";
};
template <> struct TypeName<double> {
  static constexpr const char* value = "f64";
};

// A number that the caller's pointer names, as its pointer mode says.
template <class T> Scalar scalar_at(const Handle& handle, const T* pointer) {
  Scalar scalar;
  if (handle.pointer_mode == PointerMode::kDevice) scalar.address = address_of(pointer);
  else __builtin_memcpy(scalar.bytes, pointer, sizeof(T));
  return scalar;
}
template <class T> Scalar scalar_of(T value) {
  Scalar scalar;
  __builtin_memcpy(scalar.bytes, &value, sizeof value);
  return scalar;
}

// A matrix in columns, or its transpose.
inline Array matrix(const void* base, long long leading, Operation operation = Operation::kNone) {
  Array array;
  array.base = address_of(base);
  array.row_step = operation == Operation::kNone ? 1 : leading;
  array.column_step = operation == Operation::kNone ? leading : 1;
  return array;
}
// A vector; one of a negative step begins with its last element.
inline Array vector(const void* base, long long count, long long step) {
  Array array;
  array.base = address_of(base);
  array.row_step = step;
  array.first = step < 0 ? (1 - count) * step : 0;
  return array;
}

// Launches gemm's kernel of these types for all of a batch.
Status run_gemm(Handle& handle, const std::string& types, const Gemm& gemm, long long batch);

} // namespace gmt::blas
