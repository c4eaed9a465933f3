// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/device_launches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace gmt::executor {
namespace {

constexpr std::size_t kGranule = 256;

std::size_t rounded(std::size_t bytes) {
  return std::max<std::size_t>((bytes + kGranule - 1) / kGranule, 1) * kGranule;
}

} // namespace

DeviceLaunches::DeviceLaunches(Memory& memory) : memory_(memory), bytes_(new std::byte[kBytes]) {
  memory_.add_region(kBase, kBytes, bytes_.get());
  memory_.allocate(kBase, kBytes);
  memory_.mark_initialized(kBase, kBytes);
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
  prepared_[buffer] = {std::move(launch), argument_bytes};
  return buffer;
}

bool DeviceLaunches::launch(std::uint64_t buffer, bool is_tail) {
  const std::lock_guard lock(mutex_);
  const auto found = prepared_.find(buffer);
  if (found == prepared_.end()) return false;
  DeviceLaunch made = std::move(found->second.launch);
  const std::size_t bytes = found->second.argument_bytes;
  made.arguments.assign(at(buffer), at(buffer) + bytes);
  made.is_tail = is_tail;
  launches_.push_back(std::move(made));
  prepared_.erase(found);
  free_.emplace(rounded(bytes), buffer);
  return true;
}

void DeviceLaunches::set_error(std::uint64_t thread, std::uint32_t error) {
  const std::lock_guard lock(mutex_);
  errors_[thread] = error;
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
  std::ranges::stable_sort(
    all, {}, [](const DeviceLaunch& each) { return std::pair(each.is_tail, each.by_block); });
  return all;
}

} // namespace gmt::executor
