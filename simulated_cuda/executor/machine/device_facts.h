// SPDX-License-Identifier: Apache-2.0
// What kernels can ask of their device and of each other, which the driver knows. Errors are
// numbers of cudaError_t, 0 for none. One worker asks at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gmt::executor {

class DeviceFacts {
public:
  DeviceFacts() = default;
  virtual ~DeviceFacts() = default;
  DeviceFacts(const DeviceFacts&) = delete;
  DeviceFacts& operator=(const DeviceFacts&) = delete;

  virtual std::uint32_t device() = 0; // the kernel's own
  virtual std::uint32_t device_count() = 0;
  virtual std::uint32_t cache_config() = 0;                                // a cudaFuncCache
  virtual std::uint32_t limit(std::uint64_t& value, std::uint32_t of) = 0; // a cudaLimit
  // Attributes are cudaDeviceAttr and CUfunction_attribute.
  virtual std::uint32_t device_attribute(std::int32_t& value, std::uint32_t attribute,
                                         std::uint32_t device) = 0;
  virtual std::uint32_t function_attribute(std::int32_t& value, std::uint32_t attribute,
                                           std::string_view kernel) = 0;
  // Blocks of so many threads, with as many bytes of dynamic shared memory, on a multiprocessor.
  virtual std::uint32_t active_blocks(std::int32_t& blocks, std::string_view kernel,
                                      std::int32_t threads, std::uint64_t dynamic_bytes) = 0;
};

} // namespace gmt::executor
