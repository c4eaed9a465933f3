// SPDX-License-Identifier: Apache-2.0
// Functions of kernels that the driver does: those that libcudadevrt, NVIDIA's runtime for kernels
// that launch kernels, leaves to it, and those of kernels of graphs. All else
// of libcudadevrt, copies too, it does by these, by malloc() and by kernels of its own.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace gmt::executor {

enum class DeviceFunction : unsigned char {
  kDeviceAttribute,
  kEventCreate,
  kEventDestroy,
  kEventRecord,
  kFunctionAttribute,
  kGetCacheConfig,
  kGetDevice,
  kGetDeviceCount,
  kGetLastError,
  kGetLimit,
  kPrepareLaunch,
  kLaunch,
  kActiveBlocks,
  kActiveBlocksWithFlags,
  kSetLastError,
  kStreamCreate,
  kStreamDestroy,
  kStreamWaitEvent,
  kSetConditional,
  kLaunchGraph,
};

inline constexpr std::array<std::string_view, 18> kDeviceFunctions = {
  "DeviceGetAttribute",
  "EventCreate",
  "EventDestroy",
  "EventRecord",
  "FuncGetAttribute",
  "GetCacheConfig",
  "GetDevice",
  "GetDeviceCount",
  "GetLastError",
  "GetLimit",
  "GetParameterBufferV2",
  "LaunchDeviceV2",
  "MaxActiveBlocksPerMultiprocessor",
  "MaxActiveBlocksPerMultiprocessorWithFlags",
  "SetLastError",
  "StreamCreate",
  "StreamDestroy",
  "StreamWaitEvent",
};

inline constexpr const char* kCallOfDeviceRuntime = "call.device_runtime"; // a form

// Null: the name is none of them.
constexpr std::optional<DeviceFunction> device_function(std::string_view name) {
  if (name == "cudaGraphSetConditional") return DeviceFunction::kSetConditional;
  if (name == "cudaGraphLaunch") return DeviceFunction::kLaunchGraph;
  constexpr std::string_view kPrefix = "__cuda_syscall_cnpv2";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto* const found = std::ranges::find(kDeviceFunctions, name);
  if (found == kDeviceFunctions.end()) return std::nullopt;
  return static_cast<DeviceFunction>(found - kDeviceFunctions.begin());
}

} // namespace gmt::executor
