// SPDX-License-Identifier: Apache-2.0
#include "interposer/driver_state/device_facts.h"

#include <atomic>
#include <cstddef>

#include "interposer/loader/driver_function.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

namespace {

constexpr int kMostDescribed = 64;
constinit std::atomic<bool> described_devices[kMostDescribed] = {};

// CUdevice_attribute of cuda.h, by the word of the record; the capability comes in two parts.
using trace::DeviceWord;
struct Attribute {
  unsigned word;
  int number, scale;
};
constexpr Attribute kAttributes[] = {
  {DeviceWord::texture_alignment, 14, 1},       // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
  {DeviceWord::texture_pitch_alignment, 51, 1}, // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
  {DeviceWord::surface_alignment, 30, 1},       // CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT
  {DeviceWord::reads_pageable_memory, 88, 1},   // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
  {DeviceWord::uses_host_page_tables, 100,
   1}, // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
  {DeviceWord::compute_capability, 75, 10}, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  {DeviceWord::compute_capability, 76, 1},  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
  {DeviceWord::concurrent_managed, 89, 1},  // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
  {DeviceWord::largest_pitch, 11, 1},       // CU_DEVICE_ATTRIBUTE_MAX_PITCH
};

constinit DriverFunction<char*, int, int> get_name{"cuDeviceGetName"};
constinit DriverFunction<int*, int, int> get_attribute{"cuDeviceGetAttribute"};
constinit DriverFunction<std::size_t*, int> get_memory{"cuDeviceTotalMem_v2"};
constinit DriverFunction<std::size_t*, std::size_t*> get_memory_info{"cuMemGetInfo_v2"};

// Of cuda.h's CUfunction_attribute.
enum FunctionAttribute : int {
  kMaxThreadsPerBlock = 0,
  kSharedSizeBytes = 1,
  kNumRegs = 4,
  kMaxDynamicSharedSizeBytes = 8,
};
constinit DriverFunction<int*, int, std::uint64_t> get_function_attribute{"cuFuncGetAttribute"};
constinit DriverFunction<int*, int, std::uint64_t, int> get_kernel_attribute{
  "cuKernelGetAttribute"};
constinit DriverFunction<int*> get_current_device{"cuCtxGetDevice"};
constinit std::atomic<std::uint32_t> launches_explained{0};

// Of a CUfunction or a CUkernel, both of which can be launched; 0 if the driver does not say.
std::uint64_t attribute_of(std::uint64_t function, FunctionAttribute attribute) noexcept {
  int value = 0, device = 0;
  if (get_function_attribute(&value, attribute, function) != 0 &&
      (get_current_device(&device) != 0 ||
       get_kernel_attribute(&value, attribute, function, device) != 0))
    return 0;
  return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

std::uint64_t name_of_device(ThreadLog& log, int ordinal) noexcept {
  char name[256] = {};
  if (get_name(name, sizeof name - 1, ordinal) != 0) return 0;
  return append_text(log, name);
}

} // namespace

void describe_device(ThreadLog& log, int ordinal) noexcept {
  if (ordinal < 0 || ordinal >= kMostDescribed ||
      described_devices[ordinal].load(std::memory_order_relaxed))
    return;
  if (!get_attribute.is_there() || described_devices[ordinal].exchange(true)) return;
  trace::Words<DeviceWord> words;
  trace::DeviceFields device(words);
  device.ordinal(static_cast<std::uint64_t>(ordinal));
  std::size_t bytes = 0;
  if (get_memory(&bytes, ordinal) == 0) device.bytes(bytes);
  for (const Attribute& a : kAttributes) {
    int value = 0;
    if (get_attribute(&value, a.number, ordinal) == 0)
      words.w[a.word] += static_cast<std::uint64_t>(value * a.scale);
  }
  device.name(name_of_device(log, ordinal));
  log.append_words(trace::Kind::kDevice, words.w, words.kCount);
}

void append_memory_info(ThreadLog& log, std::uint16_t context) noexcept {
  std::size_t free_bytes = 0, total_bytes = 0;
  if (get_memory_info(&free_bytes, &total_bytes) != 0) return;
  trace::Words<trace::MemoryInfoWord> words;
  trace::MemoryInfoFields(words).free_bytes(free_bytes).total_bytes(total_bytes);
  log.append_words(trace::Kind::kMemoryInfo, words.w, words.kCount, context);
}

void append_launch_limits(ThreadLog& log, std::uint64_t launch, std::uint64_t function,
                          const LaunchRequest& request) noexcept {
  // A program may go on launching what is refused each time
  constexpr std::uint32_t kMost = 4096;
  if (launches_explained.load(std::memory_order_relaxed) >= kMost) return;
  launches_explained.fetch_add(1, std::memory_order_relaxed);
  trace::Words<trace::LaunchLimitsWord> words;
  trace::LaunchLimitsFields(words)
    .launch(launch)
    .shared_bytes(request.shared_bytes)
    .most_shared_bytes(attribute_of(function, kMaxDynamicSharedSizeBytes))
    .static_shared_bytes(attribute_of(function, kSharedSizeBytes))
    .registers(attribute_of(function, kNumRegs))
    .most_threads(attribute_of(function, kMaxThreadsPerBlock))
    .grid_y(request.grid[1])
    .grid_z(request.grid[2])
    .block_x(request.block[0])
    .block_y(request.block[1])
    .block_z(request.block[2]);
  log.append_words(trace::Kind::kLaunchLimits, words.w, words.kCount);
}

void forget_devices() noexcept {
  for (auto& d : described_devices) d.store(false, std::memory_order_relaxed);
  launches_explained.store(0, std::memory_order_relaxed);
}

} // namespace gmt::interposer
