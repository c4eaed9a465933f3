// SPDX-License-Identifier: Apache-2.0
// What all calls of CUPTI need: functions found by name, since libcupti is never linked, parameters
// with their size, and what a result means.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cupti_result.h>

#include "interposer/coalescing/collector/core.h"
#include "interposer/coalescing/collector/cupti.h"

namespace gmt::interposer::collector {

template <class Function> bool look_up(void* library, const char* name,
                                       Function& function) noexcept {
  function = reinterpret_cast<Function>(core->find_symbol(library, name));
  return function != nullptr;
}

inline Answer answer(CUptiResult result) noexcept {
  using trace::AccessTrouble;
  const auto number = static_cast<std::uint64_t>(result);
  switch (result) {
  case CUPTI_SUCCESS: return {};
  case CUPTI_ERROR_HARDWARE_BUSY:
  case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
  case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: return {AccessTrouble::kBusy, number};
  case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
  case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    return {AccessTrouble::kNotPermitted, number};
  case CUPTI_ERROR_NOT_SUPPORTED:
  case CUPTI_ERROR_NOT_COMPATIBLE:
  case CUPTI_ERROR_INVALID_CHIP_NAME:
  case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
  case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
  case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
  case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
  case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
  case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED: return {AccessTrouble::kNotSupported, number};
  default: return {AccessTrouble::kError, number};
  }
}

// The parameter structures of these functions all begin with their size and a null pointer.
template <class Parameters> Parameters parameters(std::size_t size) noexcept {
  Parameters p{};
  p.structSize = size;
  return p;
}

} // namespace gmt::interposer::collector
