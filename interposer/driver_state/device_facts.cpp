// SPDX-License-Identifier: Apache-2.0
// See device_facts.h. The functions are looked up by name where they are needed, which is rarely.
#include "interposer/driver_state/device_facts.h"

#include <atomic>
#include <cstddef>

#include "interposer/loader/real_dlsym.h"
#include "interposer/log/interned_text.h"
#include "interposer/log/thread_log.h"

namespace gmt::interposer {

namespace {

constexpr int kMaxDevices = 64;
constinit std::atomic<bool> described[kMaxDevices] = {};

// CUdevice_attribute of cuda.h, by payload word; the capability comes in two parts.
struct Attribute {
  unsigned word;
  int number, scale;
};
constexpr Attribute kAttributes[] = {
    {2, 14, 1},  // CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT
    {3, 51, 1},  // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
    {4, 30, 1},  // CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT
    {5, 88, 1},  // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
    {6, 100, 1}, // CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    {7, 75, 10}, // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    {7, 76, 1},  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
    {8, 89, 1},  // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
    {10, 11, 1}, // CU_DEVICE_ATTRIBUTE_MAX_PITCH
};
constexpr unsigned kDeviceWords = 11;

template <class Function> Function driver_query(const char* name) noexcept {
  return reinterpret_cast<Function>(driver_symbol(name));
}

std::uint64_t name_of_device(ThreadLog& log, int ordinal) noexcept {
  char name[256] = {};
  const auto get_name = driver_query<int (*)(char*, int, int)>("cuDeviceGetName");
  if (get_name == nullptr || get_name(name, sizeof name - 1, ordinal) != 0) return 0;
  return append_text(log, name);
}

} // namespace

void describe_device(ThreadLog& log, int ordinal) noexcept {
  if (ordinal < 0 || ordinal >= kMaxDevices || described[ordinal].load(std::memory_order_relaxed)) return;
  const auto attribute = driver_query<int (*)(int*, int, int)>("cuDeviceGetAttribute");
  if (attribute == nullptr || described[ordinal].exchange(true)) return;
  std::uint64_t words[kDeviceWords] = {static_cast<std::uint64_t>(ordinal)};
  std::size_t bytes = 0;
  const auto total = driver_query<int (*)(std::size_t*, int)>("cuDeviceTotalMem_v2");
  if (total != nullptr && total(&bytes, ordinal) == 0) words[1] = bytes;
  for (const Attribute& a : kAttributes) {
    int value = 0;
    if (attribute(&value, a.number, ordinal) == 0) words[a.word] += static_cast<std::uint64_t>(value * a.scale);
  }
  words[9] = name_of_device(log, ordinal);
  log.append_words(trace::Kind::kDevice, words, kDeviceWords);
}

void append_memory_info(ThreadLog& log, std::uint16_t context) noexcept {
  const auto get_info = driver_query<int (*)(std::size_t*, std::size_t*)>("cuMemGetInfo_v2");
  std::size_t free_bytes = 0, total = 0;
  if (get_info == nullptr || get_info(&free_bytes, &total) != 0) return;
  const std::uint64_t words[2] = {free_bytes, total};
  log.append_words(trace::Kind::kMemoryInfo, words, 2, context);
}

void forget_devices() noexcept {
  for (auto& d : described) d.store(false, std::memory_order_relaxed);
}

} // namespace gmt::interposer
