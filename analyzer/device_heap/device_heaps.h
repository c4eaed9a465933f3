// SPDX-License-Identifier: Apache-2.0
// The device heaps of one process, one for each context that had instrumented kernels, with the
// launches that their records belong to and the limits that were set. A primary context that is
// reset has another heap afterwards.
//
// read() takes all device logs before the first host event, so that a host call on a device-heap
// pointer finds its block; follow() then sees the host's events. Programs without instrumented
// kernels pay one test an event.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/device_heap/device_heap.h"
#include "analyzer/device_heap/grid_matching.h"
#include "analyzer/trace_reader/log_stats.h"

namespace gmt {

class Heap;
class TraceClock;
class TraceNames;

// A call that set the size of a context's device heap, or was refused.
struct HeapLimitCall {
  std::uint64_t bytes = 0;
  std::uint16_t result = 0, api = trace::kNoApi;
  StackId stack;
  bool behind_launch = false; // of the context
};

struct DeviceContext {
  // CUDA programming guide, "Heap memory allocation"
  static constexpr std::uint64_t kDefaultLimit = 8 << 20;

  std::string log; // name of the files
  DeviceHeap heap;
  DeviceLaunches launches{heap};
  LogStats stats;
  std::uint64_t limit = kDefaultLimit; // in force, bytes
  std::vector<HeapLimitCall> refused;  // limits, newest last
  std::uint64_t waits = 0;             // of the host for all work of the context
  bool launches_named = false;         // a launch has said that it is this context's

  struct End {
    std::uint16_t api = trace::kNoApi;
    StackId stack;
  };
  std::optional<End> end; // by a call, while the program went on
};

// In the order in which they were made
using DeviceContexts = std::vector<std::unique_ptr<DeviceContext>>;

class DeviceHeaps {
public:
  DeviceHeaps(const TraceNames& names, const TraceClock& clock) : names_(names), clock_(clock) {}
  DeviceHeaps(const DeviceHeaps&) = delete;
  DeviceHeaps& operator=(const DeviceHeaps&) = delete;

  void read(const std::vector<DeviceLogFiles>& files);
  bool any() const { return !contexts_.empty(); }

  void follow(const Event& e, const Heap& heap); // every host event, after the heap has applied it
  // No event follows: matches what is left with launches. The contexts are only whole now, and not
  // to be had before.
  const DeviceContexts& conclude();

  // The block of a device heap that a host call of now, in that context, means by the address, with
  // the block's own context; a null block if the address lies among a device heap's blocks but
  // belongs to none that is remembered. `now`: DeviceHeap::find()'s time.
  struct Found {
    // In DeviceContexts; kNoContext if it is no device-heap pointer
    std::size_t context = kNoContext;
    const DeviceBlock* block = nullptr;
  };
  static constexpr std::size_t kNoContext = SIZE_MAX;
  // May take long: for a finding's first example, not for all events.
  Found find(std::uint64_t address, std::uint16_t context, std::uint64_t now) const;
  bool spans(std::uint64_t address) const; // a quick answer to whether there is something to find

  // What a host call on the device heap (heap-mixed) is about: its side that points there, an
  // address of 0 if none does. Only kFree, kCopy, kSet and kUse can.
  std::uint64_t misused_by(const Event& e, const Heap& heap) const;

  // Whether the call was refused, and asked for another size of a heap that kernels then found
  // full.
  bool is_refused_limit(const Event& e) const;

private:
  void on_launch(const Event& e, const Heap& heap);
  void on_sync(const Event& e);
  void on_life(const Event& e, const Heap& heap);
  void on_limit(const Event& e);
  void on_wait(const Event& e, trace::SyncOp op);
  void on_context_end(const Event& e, const Heap& heap);
  void add(std::uint16_t context, KernelLaunch launch, std::string_view name);

  const TraceNames& names_;
  const TraceClock& clock_;
  DeviceContexts contexts_;
  std::deque<GraphLaunches> graph_launches_;
  std::unordered_map<std::uint64_t, GraphLaunches*> executable_graphs_; // by handle
};

} // namespace gmt
