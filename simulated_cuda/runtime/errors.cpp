// SPDX-License-Identifier: Apache-2.0
// cudaGetLastError, cudaPeekAtLastError, cudaGetErrorName, cudaGetErrorString.
// The last error belongs to the calling thread and needs no driver function.
#include "simulated_cuda/runtime/api.h"

namespace gmt::sim {
namespace {

struct ErrorText {
  int number;
  const char* name;
  const char* text;
};

const ErrorText kErrors[] = {
#define ERROR_BOTH(number, driver_name, runtime_name, text) {number, #runtime_name, text},
#define ERROR_RUNTIME(number, name, text) {number, #name, text},
#define ERROR_DRIVER(number, name, text)
#include "trace/cuda_results.def"
};

const ErrorText* find_error(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.number == static_cast<int>(error)) return &entry;
  }
  return nullptr;
}

} // namespace

cudaError_t get_last_error() {
  const cudaError_t error = this_thread().last_error;
  this_thread().last_error = cudaSuccess;
  return error;
}

cudaError_t peek_at_last_error() { return this_thread().last_error; }

const char* get_error_name(cudaError_t error) {
  const ErrorText* entry = find_error(error);
  return entry == nullptr ? "unrecognized error code" : entry->name;
}

const char* get_error_string(cudaError_t error) {
  const ErrorText* entry = find_error(error);
  return entry == nullptr ? "unrecognized error code" : entry->text;
}

} // namespace gmt::sim
