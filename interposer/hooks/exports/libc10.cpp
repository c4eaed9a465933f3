// SPDX-License-Identifier: Apache-2.0
// The two functions of libc10 that PyTorch's allocators report to, under their own names. They go
// on to libc10's: a profiler of PyTorch's hears of everything. Memory of the host and of other
// kinds of devices comes by here as well and costs a comparison.
#include "interposer/hooks/tensors.h"
#include "interposer/hooks/torch_library.h"

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

constinit gi::TorchFunction<ReportUsage> real_usage{
  "libc10", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"};
constinit gi::TorchFunction<ReportOutOfMemory> real_out_of_memory{
  "libc10", "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"};

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
