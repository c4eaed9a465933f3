// SPDX-License-Identifier: Apache-2.0
// What the driver answers to a kernel that asks for attributes, limits and occupancy, as it answers
// the host. The thread that runs the kernel holds the driver's lock.
#pragma once

#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/state/state.h"
#include "simulated_cuda/executor/machine/device_facts.h"

namespace gmt::sim {

class KernelFacts final : public executor::DeviceFacts {
public:
  KernelFacts(Library& library, const Context& context) : library_(library), context_(context) {}

  std::uint32_t device() override;
  std::uint32_t device_count() override;
  std::uint32_t cache_config() override;
  std::uint32_t limit(std::uint64_t& value, std::uint32_t of) override;
  std::uint32_t device_attribute(std::int32_t& value, std::uint32_t attribute,
                                 std::uint32_t device) override;
  std::uint32_t function_attribute(std::int32_t& value, std::uint32_t attribute,
                                   std::string_view kernel) override;
  std::uint32_t active_blocks(std::int32_t& blocks, std::string_view kernel, std::int32_t threads,
                              std::uint64_t dynamic_bytes) override;

private:
  CUfunction function_of(std::string_view kernel);

  Library& library_;
  const Context& context_;
};

} // namespace gmt::sim
