// SPDX-License-Identifier: Apache-2.0
// What all processes together use of the machine's GPUs, as nvidia-smi says it: beside what one
// process holds it says who else is there. It is asked in a thread of its own, as it may take
// seconds.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace gmt {

struct DeviceTotal {
  std::uint64_t used = 0, total = 0; // bytes
};

// By the number of the GPU in nvidia-smi, from its lines "0, 1024, 81559" (MiB). Other lines count
// for nothing.
std::map<int, DeviceTotal> parse_device_totals(std::string_view text);

// The GPU that a process knows as `ordinal`, by its variables CUDA_VISIBLE_DEVICES and
// CUDA_DEVICE_ORDER; nothing where these do not say it for certain.
std::optional<int> gpu_of(int ordinal, const std::string& visible, const std::string& order,
                          std::size_t gpus);

class DeviceTotals {
public:
  DeviceTotals();
  ~DeviceTotals();
  DeviceTotals(const DeviceTotals&) = delete;
  DeviceTotals& operator=(const DeviceTotals&) = delete;

  // The newest answer; asks again where it is some seconds old. With `waits` the first is awaited.
  std::map<int, DeviceTotal> now(bool waits);

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace gmt
