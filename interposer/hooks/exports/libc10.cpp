// SPDX-License-Identifier: Apache-2.0
// The two functions of libc10 that PyTorch's allocators report to, under their own names. They go
// on to libc10's: a profiler of PyTorch's hears of everything. Memory of the host and of other
// kinds of devices comes by here as well and costs a comparison.
#include <atomic>

#include "interposer/base/own_stack.h"
#include "interposer/hooks/tensors.h"

namespace gi = gmt::interposer;

namespace c10 {

struct Device { // as gi::TorchDevice, by the name that makes the symbol
  std::int8_t type;
  std::int8_t index;
};

using ReportUsage = void(void*, std::int64_t, std::size_t, std::size_t, Device);
using ReportOutOfMemory = void(std::int64_t, std::size_t, std::size_t, Device);

__attribute__((visibility("default"))) void
reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                            std::size_t reserved, Device device);
__attribute__((visibility("default"))) void reportOutOfMemoryToProfiler(std::int64_t bytes,
                                                                        std::size_t allocated,
                                                                        std::size_t reserved,
                                                                        Device device);

namespace {

// Looked for at the first call, in which libc10 is loaded, and never again: a build of PyTorch that
// has no libc10 would pay for the search at each tensor.
template <class Function> struct Real {
  const char* name;
  std::atomic<Function*> function{nullptr};
  std::atomic<bool> was_looked_for{false};

  Function* get() noexcept {
    if (was_looked_for.load(std::memory_order_acquire)) [[likely]]
      return function.load(std::memory_order_relaxed);
    Function* found = nullptr;
    gi::with_room(
      [&](bool) noexcept { found = reinterpret_cast<Function*>(gi::torch_function(name)); });
    function.store(found, std::memory_order_relaxed);
    was_looked_for.store(true, std::memory_order_release);
    return found;
  }
};

constinit Real<ReportUsage> real_usage{"_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"};
constinit Real<ReportOutOfMemory> real_out_of_memory{
  "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"};

} // namespace

void reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t allocated,
                                 std::size_t reserved, Device device) {
  gi::record_tensor(address, bytes, {device.type, device.index}, __builtin_return_address(0),
                    __builtin_frame_address(0));
  if (ReportUsage* const real = real_usage.get()) real(address, bytes, allocated, reserved, device);
}

void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                                 Device device) {
  gi::record_tensor_refusal({static_cast<std::uint64_t>(bytes), allocated, reserved},
                            {device.type, device.index}, __builtin_return_address(0),
                            __builtin_frame_address(0));
  if (ReportOutOfMemory* const real = real_out_of_memory.get())
    real(bytes, allocated, reserved, device);
}

} // namespace c10
