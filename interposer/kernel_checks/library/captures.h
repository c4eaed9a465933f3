// SPDX-License-Identifier: Apache-2.0
// How many streams capture, and whether one does: what is launched there becomes a node of a graph,
// and nothing is done on the tool's behalf that a capture would forbid.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "interposer/kernel_checks/library/driver.h"

namespace gmt::interposer::kernel_checks {

inline constinit std::atomic<int> captures{0}; // replace_captures() has them counted
inline bool any_capture() noexcept { return captures.load(std::memory_order_relaxed) > 0; }

// The stream by a name that is the same for all functions. `_ptsz` forms name the thread's own by
// 0.
inline CUstream named_stream(CUstream stream, std::string_view function) noexcept {
  if (stream != nullptr) return stream;
  return function.ends_with("_ptsz") ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

enum class Capture : std::uint8_t { kNone, kActive, kUnknown };
inline Capture capture_of(CUstream named) noexcept {
  if (!any_capture()) return Capture::kNone;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.capture_status(named, &status) != 0) return Capture::kUnknown;
  if (status == CU_STREAM_CAPTURE_STATUS_NONE) return Capture::kNone;
  return status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? Capture::kActive : Capture::kUnknown;
}

} // namespace gmt::interposer::kernel_checks
