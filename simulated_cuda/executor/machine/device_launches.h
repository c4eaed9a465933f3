// SPDX-License-Identifier: Apache-2.0
// What a kernel launches by the device's runtime: kernels (dynamic parallelism) and graphs. Nothing
// of it can be waited for inside of the kernel, so all of it is done behind its blocks: a child
// whose stream is that of tail launches last of all, the others in the order of blocks and of their
// calls. Arguments lie in buffers that the kernel writes: a region of memory that a launch has
// meanwhile.
#pragma once

#include "simulated_cuda/executor/machine/device_facts.h"
#include "simulated_cuda/executor/machine/launch_tree.h"
#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/report.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gmt::executor {

// Numbers of cudaError_t.
namespace device_error {
inline constexpr std::uint32_t kInvalidValue = 1, kInvalidConfiguration = 9,
                               kPendingCountExceeded = 69, kInvalidFunction = 98;
}

struct DeviceLaunch {
  std::uint64_t graph = 0; // its handle; 0: a kernel is launched
  std::string kernel;
  Extent grid, block;
  std::uint64_t shared_bytes = 0;
  std::vector<std::byte> arguments;
  LaunchedBy by;
  std::size_t parent = LaunchTree::kNone; // in its tree
  std::uint64_t by_block = 0;             // its number
  std::uint32_t depth = 0; // kernels above it; a tail launch has those of what launches it
};

class DeviceLaunches {
public:
  // While it lives, kernels may use its region. No kernel may run then. `depth` is that of the
  // kernel that launches.
  DeviceLaunches(Memory& memory, std::uint32_t depth, DeviceFacts& facts);
  ~DeviceLaunches();
  DeviceLaunches(const DeviceLaunches&) = delete;
  DeviceLaunches& operator=(const DeviceLaunches&) = delete;

  // These are called by several workers.
  // A buffer for the arguments; 0: there is no room.
  std::uint64_t prepare(DeviceLaunch launch, std::size_t argument_bytes);
  // An error, a number of cudaError_t.
  std::uint32_t launch(std::uint64_t buffer, std::uint64_t stream, const LaunchPoint& point);
  // Into one of the streams that CUDA names for graphs; the same.
  std::uint32_t launch_graph(std::uint64_t graph, std::uint64_t stream, std::uint64_t by_block);
  void set_error(std::uint64_t thread, std::uint32_t error);
  std::uint32_t take_error(std::uint64_t thread); // 0: there was none
  std::uint64_t new_handle();                     // of a stream or an event
  void order_by_events() { uses_events_.store(true, std::memory_order_relaxed); }

  // In the order in which it is done.
  std::vector<DeviceLaunch> take();

  // Of conditional nodes: false if there is no such handle. Null: the kernel is in no graph.
  std::function<bool(std::uint64_t handle, std::uint32_t value)> set_condition;
  // An error if no kernel may launch the graph. Null: the kernel is in no graph.
  std::function<std::uint32_t(std::uint64_t graph, bool is_tail)> refuse_graph;
  std::uint64_t current_graph = 0; // its handle; 0: the kernel is in none

  DeviceFacts& facts;     // what kernels ask
  std::mutex facts_mutex; // held for each question

private:
  std::byte* at(std::uint64_t address) { return bytes_.get() + (address - kBase); }

  static constexpr std::uint64_t kBase = 0x0001050000000000ull, kBytes = std::uint64_t{4} << 20;
  struct Prepared {
    DeviceLaunch launch;
    std::size_t argument_bytes = 0;
  };

  Memory& memory_;
  std::unique_ptr<std::byte[]> bytes_;
  std::mutex mutex_;
  const std::uint32_t depth_;
  std::uint64_t next_ = 0, handles_ = 0, held_bytes_ = 0; // held: arguments of launches
  std::map<std::uint64_t, Prepared> prepared_;            // by buffer
  std::multimap<std::size_t, std::uint64_t> free_;        // buffers by bytes
  std::map<std::uint64_t, std::uint32_t> errors_;         // the last of each thread
  std::vector<DeviceLaunch> launches_;
  std::atomic<bool> uses_events_{false};
};

} // namespace gmt::executor
