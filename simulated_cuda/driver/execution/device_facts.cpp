// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/device_facts.h"

#include "simulated_cuda/driver/api.h"

#include <string>

namespace gmt::sim {
namespace {

constexpr std::int32_t kMostThreads = 1024; // of a block
constexpr std::uint32_t kInvalidValue = 1;  // cudaErrorInvalidValue

} // namespace

CUfunction KernelFacts::function_of(std::string_view kernel) {
  return reinterpret_cast<CUfunction>(kernel_named(&library_, std::string(kernel).c_str()));
}

std::uint32_t KernelFacts::device() { return static_cast<std::uint32_t>(context_.device->ordinal); }

std::uint32_t KernelFacts::device_count() {
  return static_cast<std::uint32_t>(state().devices.size());
}

std::uint32_t KernelFacts::cache_config() { return context_.cache_config; }

std::uint32_t KernelFacts::limit(std::uint64_t& value, std::uint32_t of) {
  const CUresult result = limit_of(context_, static_cast<CUlimit>(of), &value);
  return result == CUDA_SUCCESS ? 0 : kInvalidValue; // an H100's answer
}

std::uint32_t KernelFacts::device_attribute(std::int32_t& value, std::uint32_t attribute,
                                            std::uint32_t device) {
  return device_get_attribute(&value, static_cast<CUdevice_attribute>(attribute),
                              static_cast<CUdevice>(device));
}

std::uint32_t KernelFacts::function_attribute(std::int32_t& value, std::uint32_t attribute,
                                              std::string_view kernel) {
  return func_get_attribute(&value, static_cast<CUfunction_attribute>(attribute),
                            function_of(kernel));
}

std::uint32_t KernelFacts::active_blocks(std::int32_t& blocks, std::string_view kernel,
                                         std::int32_t threads, std::uint64_t dynamic_bytes) {
  blocks = 0; // of more threads than a block can have, without an error: an H100's answer
  if (threads > kMostThreads) return 0;
  return occupancy_max_active_blocks_per_multiprocessor(&blocks, function_of(kernel), threads,
                                                        dynamic_bytes);
}

} // namespace gmt::sim
