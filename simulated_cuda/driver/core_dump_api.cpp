// SPDX-License-Identifier: Apache-2.0
// The settings of GPU core dumps, cuCoredumpGet/SetAttribute[Global]: kept and answered, as cuda.h
// describes them. No dump is ever written. Those of a context are the global ones here.
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/state/state.h"

#include <csignal>
#include <cstring>
#include <string>

namespace gmt::sim {
namespace {

struct CoreDumpSettings { // with the driver's lock held
  bool enabled = false, host = true, lightweight = false, user = false;
  unsigned flags = 0;
  std::string file, pipe;
};
// Never destroyed: programs make calls while they end.
CoreDumpSettings& settings = *new CoreDumpSettings;

bool* switch_of(CUcoredumpSettings setting) {
  switch (setting) {
  case CU_COREDUMP_ENABLE_ON_EXCEPTION: return &settings.enabled;
  case CU_COREDUMP_TRIGGER_HOST: return &settings.host;
  case CU_COREDUMP_LIGHTWEIGHT: return &settings.lightweight;
  case CU_COREDUMP_ENABLE_USER_TRIGGER: return &settings.user;
  default: return nullptr;
  }
}

std::string* text_of(CUcoredumpSettings setting) {
  if (setting == CU_COREDUMP_FILE) return &settings.file;
  return setting == CU_COREDUMP_PIPE ? &settings.pipe : nullptr;
}

} // namespace

CUresult core_dump_get(CUcoredumpSettings setting, void* value, std::size_t* size) {
  if (!state().initialized) std::raise(SIGSEGV); // as driver 580 does on an H200
  if (size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const bool* on = switch_of(setting)) {
    if (value != nullptr && *size < sizeof *on) return CUDA_ERROR_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, on, sizeof *on);
    *size = sizeof *on;
    return CUDA_SUCCESS;
  }
  if (const std::string* text = text_of(setting)) {
    if (value != nullptr && *size < text->size() + 1) return CUDA_ERROR_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, text->c_str(), text->size() + 1);
    *size = text->size() + 1;
    return CUDA_SUCCESS;
  }
  if (setting != CU_COREDUMP_GENERATION_FLAGS) return CUDA_ERROR_INVALID_VALUE;
  if (value != nullptr && *size < sizeof settings.flags) return CUDA_ERROR_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, &settings.flags, sizeof settings.flags);
  *size = sizeof settings.flags;
  return CUDA_SUCCESS;
}

CUresult core_dump_set(CUcoredumpSettings setting, void* value, std::size_t* size) {
  constexpr std::size_t kMostText = 1024; // cuda.h on CU_COREDUMP_FILE: up to 1023 characters
  if (value == nullptr || size == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (bool* on = switch_of(setting)) {
    if (*size < sizeof *on) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(on, value, sizeof *on);
    return CUDA_SUCCESS;
  }
  if (std::string* text = text_of(setting)) {
    const std::size_t length = strnlen(static_cast<const char*>(value), *size);
    if (length >= kMostText) return CUDA_ERROR_INVALID_VALUE;
    text->assign(static_cast<const char*>(value), length);
    return CUDA_SUCCESS;
  }
  if (setting != CU_COREDUMP_GENERATION_FLAGS || *size < sizeof settings.flags)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(&settings.flags, value, sizeof settings.flags);
  return CUDA_SUCCESS;
}

} // namespace gmt::sim
