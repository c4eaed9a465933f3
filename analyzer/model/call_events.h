// SPDX-License-Identifier: Apache-2.0
// What each kind of call says. Sizes are bytes, 0 is "none" or "not known" where nothing else is
// said. A number that means several things has a function for each of its meanings. Two numbers
// that most calls have come first, see Subject.
#pragma once

#include <cstdint>
#include <span>

#include "trace/vocabulary.h"

namespace gmt {

inline constexpr unsigned kNoParameter = 127;

// A word of a kernel's parameter block that could be a pointer or an object, with the number of its
// parameter; kNoParameter from there on.
class Argument {
public:
  constexpr Argument() = default;
  constexpr Argument(std::uint64_t address, unsigned parameter)
      : word_(address | std::uint64_t{parameter < kNoParameter ? parameter : kNoParameter}
                          << kShift) {}

  constexpr std::uint64_t address() const { return word_ & ((std::uint64_t{1} << kShift) - 1); }
  constexpr unsigned parameter() const { return static_cast<unsigned>(word_ >> kShift); }
  constexpr bool is_unused() const { return word_ == 0; }
  friend constexpr bool operator==(Argument, Argument) = default;

private:
  static constexpr unsigned kShift = 57; // addresses have at most as many bits
  std::uint64_t word_ = 0;
};

using Arguments = std::span<const Argument>;

namespace event {

// The first two numbers of a call, whatever it is: an address or handle, and often another one.
struct Subject {
  std::uint64_t first, second;
};

struct AllocationShape {
  std::uint64_t pitch = 0;
  std::uint64_t width = 0; // bytes of a row; 0 for arrays whose rows are not made of elements
  std::uint64_t height = 0, depth = 0;
  std::uint64_t element_bytes = 0;
  std::uint64_t pool = 0;
  std::uint64_t flags = 0; // of the call
};

struct Allocation {
  std::uint64_t address; // or the handle of an array or of physical memory
  std::uint64_t bytes;   // as requested: pitch x height x depth of pitched memory
  std::uint64_t stream;  // see also graph() and location()
  const AllocationShape* shape;
  trace::MemoryKind memory_kind;
  bool is_shaped; // the call says more than address and bytes
  bool is_fenced; // --guard gave it a mapping of its own

  std::uint64_t graph() const { return stream; } // of memory of a graph's node
  // Of physical memory: the device's ordinal + 1, all ones for memory of the host
  std::uint64_t location() const { return stream; }
};

struct Free {
  std::uint64_t address; // or handle
  std::uint64_t bytes;   // if the call names them (unmap, address free)
  std::uint64_t stream;
  trace::FreeFunction function;

  std::uint64_t graph() const { return stream; } // of a free node
};

// One side of a copy with rows; x and y of linear sides are in its address already.
struct CopyShape {
  std::uint64_t destination_pitch = 0, source_pitch = 0;
  std::uint64_t width = 0; // bytes of a row
  std::uint64_t height = 0, depth = 0;
  std::uint64_t destination_rows = 0, source_rows = 0; // from slice to slice
  // Offsets in arrays, in bytes, rows and slices
  std::uint64_t destination_x = 0, destination_y = 0, destination_z = 0;
  std::uint64_t source_x = 0, source_y = 0, source_z = 0;
  bool has_offsets = false;
};

struct Copy {
  std::uint64_t destination, source; // addresses or arrays
  std::uint64_t bytes;               // in all
  std::uint64_t stream;
  const CopyShape* shape;
  trace::Side destination_side, source_side; // as the call declares them
  std::uint8_t declared_kind_plus_1;         // cudaMemcpyKind + 1 of the runtime's call, 0 unknown
  bool is_shaped;                            // rows are described
  bool is_async;
  bool is_batched; // one of several copies of one call
};

struct SetShape {
  std::uint64_t pitch = 0, width = 0, height = 0, element_bytes = 0;
};

struct Set {
  std::uint64_t destination, bytes;
  std::uint64_t value;
  std::uint64_t stream;
  const SetShape* shape;
  bool is_shaped; // rows are described
  bool is_async;
};

struct Launch {
  std::uint64_t function; // CUfunction or CUkernel
  std::uint64_t stream;
  Arguments arguments; // those that could be pointers; all of them if it is_scanned
  trace::Index3 grid, block;
  bool is_scanned;
};

struct Life {
  std::uint64_t handle; // of a primary context the device's ordinal, of peer access the peer
  std::uint64_t extra, value, bytes, name;
  trace::ObjectClass object;
  trace::LifeOp op;
  bool has_value; // also of 0

  std::uint64_t device() const { return handle; } // of primary contexts
  // Of contexts; of pools the device that uses it from now on
  std::uint64_t on_device() const { return extra; }
  // Of retained primary contexts the CUcontext; of peer access the one that gains or loses it
  std::uint64_t context() const { return extra; }
  std::uint64_t flags() const { return extra; } // of streams and events
  // Of views the array or graphics resource; of graphs the one cloned; of graph-execs the graph
  std::uint64_t parent() const { return extra; }
  std::uint64_t node() const { return extra; }       // of graphs inside a node
  std::uint64_t attribute() const { return extra; }  // of pools, Set
  std::uint64_t kept_bytes() const { return extra; } // of pools, Trim
  std::uint64_t usage() const { return extra; }      // NVTX's, of user heaps
  // Of retained primary contexts: 1 no CUDA runtime had asked the driver for its functions, 2 one
  // had
  std::uint64_t runtime() const { return value; }
  std::uint64_t address() const { return value; } // of user heaps
  std::uint64_t level() const { return value; }   // of views: or plane
  std::uint64_t graph() const { return value; } // of graphs inside a node, where the call makes it
  // Of graphs inside a node: which body of a conditional node, from 1
  std::uint64_t body() const { return bytes; }
};

struct Sync {
  std::uint64_t stream, other, flags;
  trace::SyncOp op;

  std::uint64_t context() const { return stream; } // ContextRecord, ContextWait
  std::uint64_t event() const { return other; }
  std::uint64_t executable_graph() const { return other; }
  std::uint64_t graph() const { return other; }       // EndCapture: the graph made
  std::uint64_t first_event() const { return flags; } // ElapsedTime
  // The event is the graph's, not the capture's: cudaEventRecordExternal, cudaEventWaitExternal
  bool is_external() const { return flags == 1; }
};

// The first integers or pointers of any other call, unread.
struct Note {
  std::uint64_t first, second, third, fourth;
};

struct UseShape {
  SetShape rows;
  std::uint64_t node = 0;
  std::uint64_t part = 0;      // which of the node's uses; 0 replaces all that it did before
  std::uint64_t node_type = 0; // CUgraphNodeType
  bool has_node = false;
  bool has_copy = false; // the node's copy as a whole, with the kind that the call declared
  Copy copy = {};
  CopyShape copy_shape;
};

struct Use {
  std::uint64_t address, bytes; // address or handle
  std::uint64_t stream;
  const UseShape* shape;
  trace::UseClass use;
  bool is_shaped;           // rows are described, or a node
  bool reads, writes;       // the device does so there
  bool is_of_recorded_copy; // one side of the copy before

  std::uint64_t object() const { return stream; } // of textures and surfaces
  // Of nodes: the graph or graph-exec; 0 if the call names the node only
  std::uint64_t graph() const { return stream; }
  std::uint64_t location() const { return stream; } // of access: the ordinal, all ones for the host
};

struct GraphKernel {
  std::uint64_t function;
  std::uint64_t graph; // or graph-exec; 0 if the call names the node only
  std::uint64_t node;
  Arguments arguments; // as Launch's
  trace::Index3 grid, block;
  bool is_scanned;
};

struct GraphChange {
  std::uint64_t graph; // or graph-exec; 0 if the call names the node only
  std::uint64_t other, node;
  trace::GraphOp op;

  std::uint64_t other_graph() const { return other; } // Child, Update
  std::uint64_t is_enabled() const { return other; }
  std::uint64_t event() const { return other; }
};

// What calls that say no more point to.
inline constexpr AllocationShape kNoAllocationShape;
inline constexpr CopyShape kNoCopyShape;
inline constexpr SetShape kNoSetShape;
inline constexpr UseShape kNoUseShape;

} // namespace event
} // namespace gmt
