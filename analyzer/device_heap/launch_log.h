// SPDX-License-Identifier: Apache-2.0
// The newest launches of kernels and graphs, and which of them the host does not know to be done:
// where a kernel met a fault, the launch is among these. Fed with the events of one process in
// merged order, behind the heap, which knows the kernels of graphs. Keeps kMostKept launches.
//
// Ids of grids count from 1 on each device, over all contexts (H100, driver 580): a launch takes
// one, and so do a set of megabytes, and each kernel of a graph when it is first launched. Smaller
// sets, copies on the device and other nodes of graphs take some; sets of at most 4,096 bytes take
// none.
//
// "Done" is what the host waited for: a context, a stream, an event, a copy that waits, a free.
// Where that is uncertain a launch is not done, so that the one at fault is not left out.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/base/newest.h"
#include "analyzer/model/event.h"

namespace gmt {

class Heap;

// A kernel's launch, the launch of a graph, or a call that gave a graph a kernel.
struct LoggedLaunch {
  enum class What : std::uint8_t { kKernel, kGraph, kCaptured, kNodeMade };
  What what = What::kKernel;
  std::uint64_t order = 0;
  std::uint64_t function = 0;   // handle; 0 for graphs
  std::uint64_t executable = 0; // kGraph
  std::uint64_t stream = 0;     // Event::own_stream()
  trace::Index3 grid = {}, block = {};
  // kKernel: between which numbers the GPU's id of its grid lies
  std::uint64_t least_id = 0, most_id = UINT64_MAX;
  StackId stack;
  std::uint16_t api = trace::kNoApi; // as the program wrote it
  std::uint16_t context = 0;
  bool is_blocking = true; // its stream and the legacy stream wait for each other
  // Of blocks that it has pointers into, freed ones too: the addresses where they begin, if kept
  std::vector<std::uint64_t> given;
};

class LaunchLog {
public:
  static constexpr std::size_t kMostKept = 100'000;
  using Launches = Newest<LoggedLaunch, kMostKept>;

  void follow(const Event& e, const Heap& heap) {
    if (e.kind != EventKind::kAlloc) follow_other(e, heap);
  }
  // From now on `given` of kernels is filled, with at most kMostGiven blocks.
  static constexpr std::size_t kMostGiven = 64;
  void keep_given_blocks() { keeps_given_ = true; }

  // By the order of its record; null if it is unknown or too old.
  const LoggedLaunch* find(std::uint64_t order) const;
  // Launches that are not known to be done, newest first; of a context, or of all if it is 0.
  std::vector<const LoggedLaunch*> in_flight(std::uint16_t context) const;
  const Launches& all() const { return kept_; }

private:
  void follow_other(const Event& e, const Heap& heap);
  void on_launch(const Event& e, const Heap& heap);
  void on_sync(const Event& e, const Heap& heap);
  void on_graph_kernel(const Event& e);
  void on_graph_launch(const Event& e, const Heap& heap);
  void on_life(const Event& e);
  void on_set(const Event& e, const Heap& heap);
  void note_given(LoggedLaunch& launch, const Event& e, const Heap& heap) const;
  void wait_for_stream(const Event& e, std::uint64_t handle, std::uint64_t until);
  bool is_done(const LoggedLaunch& launch) const;

  struct Recorded { // an event
    std::uint64_t stream = 0, order = 0;
  };
  struct Ids { // of grids, that are taken
    std::uint64_t least = 0, most = 0;
  };
  Ids& ids_of(const Event& e, const Heap& heap); // of its device
  struct OfContext {
    std::uint64_t waited = 0; // for all of its work, until then
    std::uint64_t legacy = 0; // for its blocking streams
  };
  OfContext& of(std::uint16_t context) {
    if (contexts_.size() <= context) contexts_.resize(context + std::size_t{1});
    return contexts_[context];
  }
  OfContext known_of(std::uint16_t context) const {
    return context < contexts_.size() ? contexts_[context] : OfContext{};
  }
  std::uint64_t& waited_for(std::uint64_t stream) {
    if (last_waited_ == nullptr || last_stream_ != stream) {
      last_waited_ = &streams_[stream];
      last_stream_ = stream;
    }
    return *last_waited_;
  }

  bool keeps_given_ = false;
  Launches kept_;
  std::unordered_set<std::uint64_t> launched_;               // executable graphs
  std::vector<Ids> ids_;                                     // by device
  std::vector<OfContext> contexts_;                          // by id
  std::unordered_map<std::uint64_t, std::uint64_t> streams_; // waited for, until then
  // Programs wait for the same stream again and again: the last one is not searched.
  std::uint64_t last_stream_ = 0;
  std::uint64_t* last_waited_ = nullptr; // in streams_, where values stay at their addresses
  std::unordered_map<std::uint64_t, Recorded> events_;
};

} // namespace gmt
