// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/device_launches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::uint64_t kTailLaunch = 3, kFireAndForget = 4; // streams that CUDA names
constexpr std::size_t kGranule = 256;
// Launches that wait for each other, as an H100 has them; CUDA's document says 24 levels.
constexpr std::uint32_t kMostPending = 2048;
// What one kernel launches waits for its end here, and on a GPU that has room for it alone.
constexpr std::size_t kMostLaunches = 1 << 19, kMostHeldBytes = 256 << 20, kMostErrors = 1 << 20;

std::size_t rounded(std::size_t bytes) {
  return std::max<std::size_t>((bytes + kGranule - 1) / kGranule, 1) * kGranule;
}

} // namespace

DeviceLaunches::DeviceLaunches(Memory& memory, std::uint32_t depth, DeviceFacts& asked)
    : facts(asked), memory_(memory), bytes_(new std::byte[kBytes]), depth_(depth) {
  memory_.add_region(kBase, kBytes, bytes_.get());
  // A buffer serves one thread after the other
  if (const Region* region = memory_.region_of(kBase)) region->has_no_races = true;
}

DeviceLaunches::~DeviceLaunches() { memory_.remove_region(kBase); }

std::uint64_t DeviceLaunches::prepare(DeviceLaunch launch, std::size_t argument_bytes) {
  const std::size_t bytes = rounded(argument_bytes);
  const std::lock_guard lock(mutex_);
  std::uint64_t buffer = 0;
  if (const auto found = free_.find(bytes); found != free_.end()) {
    buffer = found->second;
    free_.erase(found);
  } else if (bytes <= kBytes - next_) {
    buffer = kBase + next_;
    next_ += bytes;
  } else {
    return 0;
  }
  std::memset(at(buffer), 0, bytes);
  memory_.allocate(buffer, bytes);
  memory_.mark_initialized(buffer, bytes);
  prepared_[buffer] = {std::move(launch), argument_bytes};
  return buffer;
}

std::uint32_t DeviceLaunches::launch(std::uint64_t buffer, std::uint64_t stream,
                                     const LaunchPoint& point) {
  const bool is_tail = stream == kTailLaunch;
  const std::lock_guard lock(mutex_);
  const auto found = prepared_.find(buffer);
  if (found == prepared_.end()) return device_error::kInvalidValue;
  DeviceLaunch made = std::move(found->second.launch);
  const std::size_t bytes = found->second.argument_bytes;
  prepared_.erase(found);
  free_.emplace(rounded(bytes), buffer);
  if (!is_tail && depth_ >= kMostPending) return device_error::kPendingCountExceeded;
  if (launches_.size() >= kMostLaunches || held_bytes_ + bytes > kMostHeldBytes)
    return device_error::kPendingCountExceeded;
  held_bytes_ += bytes;
  made.arguments.assign(at(buffer), at(buffer) + bytes);
  // Streams that CUDA names, but for these two, are the block's own
  made.by = {point, stream < kFireAndForget ? 0 : stream, is_tail, stream == kFireAndForget, false};
  made.depth = depth_ + (is_tail ? 0 : 1);
  launches_.push_back(std::move(made));
  return 0;
}

std::uint32_t DeviceLaunches::launch_graph(std::uint64_t graph, std::uint64_t stream,
                                           std::uint64_t by_block) {
  constexpr std::uint64_t kTail = std::uint64_t{1} << 56, kFireAndForget = std::uint64_t{2} << 56,
                          kAsSibling = std::uint64_t{3} << 56;
  if (stream != kTail && stream != kFireAndForget && stream != kAsSibling)
    return device_error::kInvalidValue;
  if (!refuse_graph) return device_error::kInvalidValue;
  if (const std::uint32_t refused = refuse_graph(graph, stream == kTail); refused != 0)
    return refused;
  const std::lock_guard lock(mutex_);
  if (launches_.size() >= kMostLaunches) return device_error::kPendingCountExceeded;
  DeviceLaunch made;
  made.graph = graph;
  made.by.is_tail = stream == kTail;
  made.by_block = by_block;
  launches_.push_back(std::move(made));
  return 0;
}

void DeviceLaunches::set_error(std::uint64_t thread, std::uint32_t error) {
  const std::lock_guard lock(mutex_);
  if (errors_.size() < kMostErrors || errors_.contains(thread)) errors_[thread] = error;
}

std::uint32_t DeviceLaunches::take_error(std::uint64_t thread) {
  const std::lock_guard lock(mutex_);
  const auto node = errors_.extract(thread);
  return node.empty() ? 0 : node.mapped();
}

std::uint64_t DeviceLaunches::new_handle() {
  constexpr std::uint64_t kFirst = 256; // lower ones are the streams that CUDA names
  const std::lock_guard lock(mutex_);
  return kFirst + ++handles_;
}

std::vector<DeviceLaunch> DeviceLaunches::take() {
  std::vector<DeviceLaunch> all = std::move(launches_);
  launches_.clear();
  held_bytes_ = 0;
  for (DeviceLaunch& each : all) each.by.is_after_events = uses_events_;
  std::ranges::stable_sort(
    all, {}, [](const DeviceLaunch& each) { return std::pair(each.by.is_tail, each.by_block); });
  return all;
}

} // namespace gmt::executor
