// SPDX-License-Identifier: Apache-2.0
// How findings show calls in kernels: as stacks of one frame with block and thread, each followed
// by the host's stack of the launch. For finish(), when launches are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/detectors/detector.h"
#include "analyzer/detectors/shared/descriptions.h"

namespace gmt {

// The kernel that made the call, demangled; else the function that the call stands in; "a kernel"
// if unknown.
std::string kernel_of(const DeviceCall& call, const DeviceContext& context);

// "step.cu:12"; empty where no line is known.
std::string source_of(const DeviceCall& call, const DeviceContext& context);

// Adds the call in the kernel and, unless the stack before it already shows the same launch, the
// launch.
void add_device_stack(Finding& finding, StackRole role, const DeviceCall& call,
                      const DeviceContext& context, const TraceNames& names,
                      StackOrder order = StackOrder::kOnly);

// "64 bytes of the device heap allocated by malloc in step(int*)"
Text describe_block(const DeviceBlock& block, const DeviceContext& context);

// Memory that the host's API gave out and that a kernel tried to free; null if the pointer is no
// such.
const Block* host_block_of(const DeviceMistake& mistake, const Heap& heap);

// A size for cudaDeviceSetLimit that holds what this heap was asked for, with room for its own
// bookkeeping.
std::uint64_t sufficient_limit(const DeviceContext& context);

// The malloc of a grid that got no memory; empty if none did.
struct RefusedMalloc {
  DeviceCall first;
  const DeviceContext* context = nullptr;
};
std::optional<RefusedMalloc> refusal_in(const DeviceContexts& contexts, std::uint16_t context,
                                        std::uint64_t grid);

// What must be equal for two findings to be one: the call's kernel and site.
std::string site_key(const DeviceCall& call, const DeviceContext& context);

// Those of equal keys as one, the first as example. DeviceHeap knows grids, but no kernels.
template <class T, class KeyOf> std::vector<T> merged(const std::vector<T>& all,
                                                      const KeyOf& key_of) {
  std::vector<T> result;
  std::unordered_map<std::string, std::size_t> by_key;
  for (const T& each : all) {
    const auto [at, is_new] = by_key.try_emplace(key_of(each), result.size());
    if (is_new) {
      result.push_back(each);
    } else {
      result[at->second].count += each.count;
      result[at->second].bytes += each.bytes;
    }
  }
  return result;
}

// The context's, merged.
std::vector<DeviceMistake> mistakes_of(const DeviceContext& context);

} // namespace gmt
