// SPDX-License-Identifier: Apache-2.0
// What one piece of work on a stream does with one block of memory, and whether two such pieces
// meet in it. Of copies and sets the bytes are known. Of a kernel they are known where the
// simulated device says them; elsewhere its code says what it does behind a pointer.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "analyzer/detectors/shared/stream_clock.h"
#include "analyzer/heap/memory_kinds.h"
#include "analyzer/model/event.h"

namespace gmt {

// Of a launch, or of the launch of a graph, on the simulated device.
struct LaunchFacts {
  bool may_wait = false; // its code has atomics or strong loads
  // Streams whose work it meets in what it used by atomics or strong accesses: it may wait for
  // them there, and they for it.
  std::set<StreamClock::Stream> talks_with = {};
};

struct MemoryWork {
  StreamClock::Point work;
  std::shared_ptr<const StreamClock::Past> past = {}; // null: the clocks of now say what is before
                                                      // it
  StackId stack = {};
  std::uint16_t api = trace::kNoApi;
  // Of a copy or set: the bytes. Of a kernel the address alone: where its pointer leads, or the
  // first that it used.
  Rows rows = {};
  bool writes = false;
  bool may_outlast_call = false; // a copy from pageable memory
  std::uint64_t function = 0;    // of a kernel; 0: of a copy or set, or of a graph
  unsigned parameter = 0;        // of the kernel

  // Where the device said what it used.
  std::vector<event::UsedRows> used = {}; // of this block
  std::shared_ptr<LaunchFacts> launch = {};
  bool is_of_graph = false;
  std::uint64_t kernel = 0;            // id of the kernel's name; 0: it is none
  std::uint64_t index = 0, before = 0; // of a graph's node, as event::Execution has them

  bool is_kernel() const { return function != 0 || kernel != 0; }
  bool is_exact() const { return !used.empty(); }
  bool is_inferred() const { return is_kernel() && !is_exact(); }
  // A node of a graph does the same to all of its bytes.
  bool allocates() const { return is_exact() && used.front().is_allocated; }
  bool frees() const { return is_exact() && used.front().is_freed; }
};

// Of two pieces of work that are not ordered and whose bytes are known.
struct Meeting {
  bool is_race = false;
  // They use the same bytes by atomics or strong accesses, by which they may order what else they
  // do
  bool is_talk = false;
  bool is_certain = true;  // false: it may be meant
  bool is_compared = true; // false: the rows are too many
  bool earlier_writes = false, later_writes = false;
  std::uint64_t address = 0; // of the later one
};
Meeting meeting_of(const MemoryWork& earlier, const MemoryWork& later);

// Whether nothing orders them. Either may have been called first.
bool are_unordered(const MemoryWork& one, const MemoryWork& other, const StreamClock& clock);

} // namespace gmt
