// SPDX-License-Identifier: Apache-2.0
// Which launch of the host a grid on the device is. Kernels know only a grid's id (%gridid), which
// counts launches from 1 over all streams (measured on an H100, driver 580), and those of another
// context of the device with them (H200). These and things that the host's records do not show as
// launches (large sets, copies between devices) take ids. So ids run ahead of the recorded launches
// by a number that only grows. A grid is the newest launch that could have its id, has its extents
// and, where the record's function is a kernel, its name. Kernels of a graph take their ids when
// the graph is instantiated.
//
// Launches of one context are added in their order. A grid that fits no launch stays unknown.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/device_heap/device_heap.h"
#include "analyzer/device_heap/graph_launches.h"
#include "analyzer/model/event.h"

namespace gmt {

struct KernelLaunch {
  PackedIndex extents = {}, block_extents = {};
  std::uint64_t realtime = 0; // nanoseconds of CLOCK_REALTIME, 0 unknown
  std::uint64_t index = 0;    // in the context, from 1
  std::uint64_t number = 0;   // of its kernel's launches, from 1
  std::uint64_t stream = 0;   // handle
  std::uint64_t waits = 0;    // how often the host had waited for all work of the context
  StackId stack;
  std::uint32_t kernel = 0; // into DeviceLaunches' names
  std::uint16_t api = trace::kNoApi;
  bool captured = false;                // into a graph: its grid runs at each launch of that
  bool by_hand = false;                 // the node was made by a call of its own
  const GraphLaunches* graph = nullptr; // of the graph's
  bool is_blocking = true;              // its stream and the legacy stream wait for each other
};

// Whether the one surely ended before the other began: the same stream ran both, or the legacy
// stream one of them and a stream that waits for it the other, or the host waited in between.
// Events are not followed: false says nothing.
bool is_ordered(const KernelLaunch& earlier, const KernelLaunch& later);

class DeviceLaunches {
public:
  explicit DeviceLaunches(const DeviceHeap& heap) : heap_(heap) {}

  // The next launch; its index, number and kernel are set here. `name` is the kernel's as linked.
  void add(KernelLaunch launch, std::string_view name);
  void conclude(); // no launch follows
  void restart();  // the launches so far were another life's of the context
  void forget();   // they were another context's

  std::uint64_t count() const { return count_; }      // of launches in this life of the context
  const KernelLaunch* find(std::uint64_t grid) const; // null if it is not known
  const std::string& kernel(const KernelLaunch& launch) const { return names_[launch.kernel].full; }
  // Of its kernel's launches in this life of the context: how many there were, and how many came
  // after it.
  std::uint64_t launches(const KernelLaunch& launch) const {
    return names_[launch.kernel].launches - names_[launch.kernel].before;
  }
  std::uint64_t later(const KernelLaunch& launch) const {
    return names_[launch.kernel].launches - launch.number;
  }
  // Whether the source calls this kernel by that name: "step" for "void ns::step<int>(int*)".
  bool is_called(const KernelLaunch& launch, std::string_view name) const {
    return names_[launch.kernel].base == name;
  }

private:
  struct Name {
    std::string full, base; // demangled; without namespace, template arguments and parameters
    std::uint64_t launches = 0, before = 0; // before: those of another life of the context
  };
  struct Match {
    std::size_t grid; // index into the heap's grids
    KernelLaunch launch;
  };

  std::uint32_t name_of(std::string_view linked);
  void align(bool at_end);
  bool take_newest(std::size_t grid, std::uint64_t last_possible);
  bool slide(std::size_t grid);
  bool has_form_of(const KernelLaunch& launch, std::size_t grid) const;
  bool fits(const KernelLaunch& launch, std::size_t grid) const;
  bool fits(std::uint64_t index, std::size_t grid) const;
  void match(std::size_t grid, const KernelLaunch& launch);
  void trim();

  const DeviceHeap& heap_;
  std::vector<Name> names_;
  std::unordered_map<std::string, std::uint32_t> by_name_; // as linked
  std::unordered_set<std::string> bases_;
  std::deque<KernelLaunch> window_; // the newest launches
  std::uint64_t count_ = 0;         // launches so far
  std::uint64_t hidden_ = 0;        // ids that no recorded launch took, so far
  std::size_t next_ = 0;            // the first grid not looked at
  std::vector<Match> matches_;      // in the order of grids and of launches
};

} // namespace gmt
