// SPDX-License-Identifier: Apache-2.0
// Stands for PyTorch's libc10: what its allocators report to. Counts what arrives.
#include <cstddef>
#include <cstdint>

namespace c10 {

struct Device {
  std::int8_t type, index;
};

static long usage_reports, refusals;

__attribute__((visibility("default"))) void
reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device);
__attribute__((visibility("default"))) void reportOutOfMemoryToProfiler(std::int64_t, std::size_t,
                                                                        std::size_t, Device);

void reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) {
  ++usage_reports;
}
void reportOutOfMemoryToProfiler(std::int64_t, std::size_t, std::size_t, Device) { ++refusals; }

} // namespace c10

#define EXPORTED extern "C" __attribute__((visibility("default")))
EXPORTED long standin_usage_reports() { return c10::usage_reports; }
EXPORTED long standin_refusals() { return c10::refusals; }

// As libc10 reports a storage of the host.
EXPORTED void standin_host_storage(void* address, std::int64_t bytes) {
  c10::reportMemoryUsageToProfiler(address, bytes, 0, 0, {0, -1});
}
