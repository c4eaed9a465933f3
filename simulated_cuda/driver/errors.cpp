// SPDX-License-Identifier: Apache-2.0
// cuGetErrorName and cuGetErrorString over trace/cuda_results.def.
// Called through driver_api.def. Unknown numbers answer CUDA_ERROR_INVALID_VALUE and a null
// pointer, as documented.
#include "simulated_cuda/driver/api.h"

namespace gmt::sim {
namespace {

struct ErrorText {
  int number;
  const char* name;
  const char* text;
};

const ErrorText kErrors[] = {
#define ERROR_BOTH(number, driver_name, runtime_name, text) {number, #driver_name, text},
#define ERROR_DRIVER(number, name, text) {number, #name, text},
#define ERROR_RUNTIME(number, name, text)
#include "trace/cuda_results.def"
};

const ErrorText* find_error(CUresult error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.number == static_cast<int>(error)) return &entry;
  }
  return nullptr;
}

} // namespace

CUresult get_error_name(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* entry = find_error(error);
  *name = entry == nullptr ? nullptr : entry->name;
  return entry == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult get_error_string(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* entry = find_error(error);
  *text = entry == nullptr ? nullptr : entry->text;
  return entry == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

} // namespace gmt::sim
