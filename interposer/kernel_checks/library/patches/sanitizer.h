// SPDX-License-Identifier: Apache-2.0
// NVIDIA's Sanitizer API, as far as it is used: it calls what subscribes when the driver loads code
// and launches kernels, and puts calls of device functions before instructions of machine code. Its
// headers are no part of a toolkit's core, so types and numbers stand here, as the "Compute
// Sanitizer API Reference Manual" of CUDA 13.0 has them. Later versions only append to what is read
// here.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

#include "interposer/base/toolkit_search.h"

namespace gmt::interposer::kernel_checks {

using SanitizerHandle = void*; // of a subscriber, a stream or a launch

enum class SanitizerDomain : std::uint32_t { kResource = 3, kLaunch = 5, kGraphs = 10 };
enum class ResourceEvent : std::uint32_t {
  kContextDestroyStarting = 4,
  kModuleLoaded = 9,
  kModuleUnloadStarting = 10,
};
inline constexpr std::uint32_t kLaunchBegin = 1;
inline constexpr std::uint32_t kNodeLaunchBegin = 4; // of kGraphs: of each node, in the launch
inline constexpr std::uint32_t kGlobalAccess = 3;    // an instruction to be patched
// Of Sanitizer_DeviceMemoryFlags
inline constexpr std::uint32_t kPatchReads = 1, kPatchWrites = 2;

struct SanitizerContext { // Sanitizer_ResourceContextData
  CUcontext context;
};
struct SanitizerModule { // Sanitizer_ResourceModuleData
  CUcontext context;
  CUmodule module;
  std::size_t code_bytes;
  const char* code; // a cubin
  CUlibrary library;
};
struct SanitizerLaunch { // Sanitizer_LaunchData
  CUcontext context;
  CUstream stream;
  SanitizerHandle stream_handle;
  CUmodule module;
  CUfunction function;
  const char* name;
  std::uint32_t grid[3], block[3], cluster[3];
  std::uint64_t grid_id;
  SanitizerHandle launch;
};

struct SanitizerNode { // Sanitizer_GraphNodeLaunchData
  CUgraphExec graph;
  std::uint32_t launch_id;
  CUgraphNode node;
  CUgraphNodeType type;
  SanitizerLaunch launch; // of a kernel
};

using SanitizerCallback = void (*)(void* given, std::uint32_t domain, std::uint32_t event,
                                   const void* data);

// Its functions, which answer 0 where all is well.
struct Sanitizer {
  int (*subscribe)(SanitizerHandle* subscriber, SanitizerCallback callback, void* given);
  int (*unsubscribe)(SanitizerHandle subscriber);
  int (*enable)(std::uint32_t enable, SanitizerHandle subscriber, std::uint32_t domain,
                std::uint32_t event);
  int (*add_patches)(const void* image, CUcontext context);
  int (*patch_instructions)(std::uint32_t instruction, CUmodule module, const char* function);
  int (*patch_module)(CUmodule module);
  int (*set_launch_data)(SanitizerHandle launch, CUfunction kernel, SanitizerHandle stream,
                         const void* data);
  int (*function_location)(CUmodule module, const char* name, std::uint64_t* pc,
                           std::uint64_t* bytes);
};

// Opens libsanitizer-public.so of the toolkit or of the wheel nvidia-cuda-sanitizer-api;
// GPUMEMTRACE_SANITIZER names another file. Null: there is none; else why it cannot be used.
const char* open_sanitizer(const ToolkitSearch& search, Sanitizer& to) noexcept;

} // namespace gmt::interposer::kernel_checks
