// SPDX-License-Identifier: Apache-2.0
// What is allocated at a point of the merged order of one process, and the verdict on each call that touches
// memory. Fed by the analysis, read by detectors. Addresses are virtual and unified (UVA): device, managed
// and pinned memory share one address space; registered host ranges and VMM reservations are layers of their
// own, and handles (arrays, VMM handles) have spaces of their own.
//
// verdicts.cpp has the order of verdicts on a release, memory_kinds.cpp which release fits which allocation.
// Memory grows with live and a bounded number of freed blocks, never with events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/model/event.h"

namespace gmt {

// What only some allocations have; 0 where it does not apply.
struct BlockDetail {
  std::uint64_t pitch = 0, width = 0, height = 0, depth = 0, element = 0; // width in bytes
  std::uint64_t pool = 0;
  std::uint64_t flags = 0;
  std::uint32_t references = 1; // opens of one IPC handle, retains of one VMM handle: each needs its release
  StackId host_freed;           // free() of registered memory, which the C library allows
};

// What has happened to a block since its birth: bits of Block::marks.
enum Mark : std::uint16_t {
  kWasWritten = 1,   // by a copy or set
  kWasRead = 2,      // by a copy
  kWasArgument = 4,  // a kernel was given a pointer into it
  kWasBound = 8,     // to a texture, surface, tensor map or graph node, or named by a memory operation
  kWasExported = 16, // another process or API may touch it
  kWasHostFreed = 32,
  kGraphRan = 64, // graph memory that a launch allocated and nothing has freed since
  kWasTried = 128, // a copy, set, bind or launch that CUDA refused named it
  kHadAccess = 256, // a mapping that cuMemSetAccess has given to some device or the host
};

// Physical memory and pools can be the host's as well.
inline constexpr std::uint16_t kHostPlace = 0xffff;

// One allocation from birth to death, in one cache line. The newest kMaxFreed freed ones are kept to explain
// later mistakes with.
struct alignas(64) Block {
  enum class End : std::uint8_t {
    kAlive,
    kFreed,
    kContextEnded, // by its context's destruction or reset: still a leak, and says so
    kReborn,       // its address was allocated again: its release went unseen
  };
  std::uint64_t address = 0; // or handle
  std::uint64_t bytes = 0;   // as requested; pitch x height x depth when pitched; 0 unknown
  std::uint64_t stream = 0;
  std::uint64_t born : trace::kOrderBits = 0; // order
  std::uint64_t marks : 16 = 0;               // Mark bits
  std::uint64_t died : trace::kOrderBits = 0;
  std::uint64_t place : 16 = 0; // ordinal + 1 of its device or kHostPlace; 0: its context's device
  const BlockDetail* detail = nullptr; // null if the allocation has none; see shape()
  StackId allocated;
  StackId freed;                           // the release, or the call that ended its context
  std::uint16_t api = trace::kNoApi;       // how it was born: the runtime's name if one led there
  std::uint16_t freed_api = trace::kNoApi; // the same of `freed`
  std::uint16_t context = 0;
  trace::Family family = trace::Family::kUnknown;
  End end = End::kAlive;

  const BlockDetail& shape() const;
};
static_assert(sizeof(Block) == 64);

// What a node of a graph does at each launch.
struct GraphWork {
  enum class Kind : std::uint8_t { kKernel, kCopy, kSet, kOther };
  // Instead of a parameter's number, where it is no kernel that uses the memory.
  enum Part : std::uint8_t { kDestination, kSource, kDestinationArray, kSourceArray };
  Kind kind = Kind::kKernel;
  bool captured = false;
  bool may_run = false;       // of the body of a conditional node: decided on the device
  std::uint16_t api = trace::kNoApi; // of `made`
  StackId made;               // the captured call, or the one that made or changed the node
  std::uint64_t function = 0; // a kernel's handle
  std::uint64_t order = 0;    // of `made`
  // Words that led into memory, with parameter or part, see trace::argument_word().
  std::vector<std::uint64_t> pointers = {};
};

// What Heap::apply found out about one event.
struct Judgement {
  enum class Verdict : std::uint8_t {
    kNone,               // nothing to say: not a memory call, or all is well
    kDoubleFree,         // block: the freed one
    kMismatchedFree,     // block: the live one
    kInvalidFreeInside,  // block: the live one that contains the address
    kInvalidFreeEnded,   // block: ended with its context
    kInvalidFreeUnknown, // no block, or the freed one that the address lies inside of
    kUnseenAllocation,   // the driver freed what we never saw born: not a mistake
    kUseAfterFree,       // block: the freed one that the range starts in (see `side`)
    // block: the live one; bytes_past lie outside of it. The range begins inside of it, or bytes_before it, or
    // at its end or behind (offset). Of an array: see Heap::find_array and box_of.
    kOutOfBounds,
  };
  enum class Side : std::uint8_t { kNone, kDestination, kSource };
  // What else a kernel's pointer into freed memory may be: one past the end of a live block that another
  // argument points into, as the second of a pair of iterators is; or a few bytes before a live block, as a
  // pointer that counts from 1 is.
  enum class Reading : std::uint8_t { kNone, kEnd, kBefore };
  Verdict verdict = Verdict::kNone;
  Side side = Side::kNone;
  std::uint8_t parameter = trace::kNoParameter;   // of a kernel, where a launch was judged
  Reading reading = Reading::kNone;
  std::uint8_t neighbour_parameter = trace::kNoParameter; // kEnd: which one points into `neighbour`
  const Block* block = nullptr;                   // valid until the next apply()
  const Block* neighbour = nullptr;               // the live block of `reading`; likewise
  const GraphWork* work = nullptr;                // of the graph whose launch was judged; likewise
  std::uint64_t offset = 0;                       // of the address inside block
  std::uint64_t bytes_past = 0, bytes_before = 0; // kOutOfBounds
  std::uint64_t range_begin = 0, range_bytes = 0; // the range judged; 0 bytes: length unknown

  bool is_mistake() const { return verdict != Verdict::kNone && verdict != Verdict::kUnseenAllocation; }
};

// A live block that an accepted call touched (or bore, or ended), with the part of it.
struct Touch {
  enum class Access : std::uint8_t { kRead, kWrite, kArgument, kBound, kBorn, kEnded };
  const Block* block = nullptr; // valid until the next apply()
  Access access = Access::kRead;
  std::uint8_t parameter = trace::kNoParameter; // kArgument: which one
  std::uint64_t address = 0, bytes = 0;         // bytes 0: unknown
};

std::string_view family_noun(trace::Family family); // "device memory", "pinned host memory", ...
std::string_view right_release(trace::Family family, bool runtime); // "cudaFreeHost" / "cuMemFreeHost"
bool release_fits(trace::FreeFunction function, trace::Family family);
constexpr bool is_device_family(trace::Family family); // counts in the device's peak
bool is_device_memory(const Block& block);             // the same, where it is known not to be the host's
constexpr bool is_static(trace::Family family); // a variable of the program's code: looked up, never allocated
bool can_leak(trace::Family family);
bool ends_capture(const Event& end); // a kEndCapture, whatever CUDA answered (graph_memory.cpp)
bool is_sticky(std::uint16_t result); // the context is dead after this code (memory_kinds.cpp lists them)

// Rows as a call describes them: one linear side of a copy or set, or what a texture binds. A flat call is
// one row. Row i of slice z starts at address + (z * slice + i) * pitch.
struct Rows {
  std::uint64_t address = 0;
  std::uint64_t pitch = 0; // 0: none given
  std::uint64_t width = 0; // in bytes
  std::uint64_t height = 1, depth = 1;
  std::uint64_t slice = 1;   // rows from one slice to the next
  std::uint64_t element = 0; // 0 unknown
  std::uint64_t count() const; // height x depth
};
Rows rows_of(const Event& call, Judgement::Side side); // the side matters for copies alone
trace::Side declared_side(const Event& copy, Judgement::Side side);
std::uint64_t address_of(const Event& call, Judgement::Side side); // of a copy or set

// The part of an array that one side of a copy names: bytes of a row, rows and slices. A width of 0 is not known.
struct Box {
  std::uint64_t x = 0, y = 0, z = 0;
  std::uint64_t width = 0, height = 1, depth = 1;
};
std::optional<Box> box_of(const Event& copy, Judgement::Side side); // nothing where the record has no such part

// What a graph's node does when it runs, as the same call on a stream is recorded: its copy, from the record of the
// destination, or its set. Nothing from other records, and of copies in traces before 1.5.
std::optional<Event> work_of_node(const Event& use);

// Bytes from the first to the last byte that one side of a copy touches, padding of the last row left out.
std::uint64_t copy_extent(const Event& copy, Judgement::Side side);
std::uint64_t set_extent(const Event& set);

class MemoryUse;

class Heap {
public:
  static constexpr std::size_t kMaxFreed = 1'000'000;

  Heap();
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // Applies one event and judges it. Runtime-row events (kFlagRuntime) are judged, never applied.
  // The span (a copy can be wrong on both sides) and its blocks are valid until the next apply().
  std::span<const Judgement> apply(const Event& event);

  // Fetches what apply() is going to touch, which is seldom in the cache: the index's entries for an event some
  // calls ahead, the block of a release that is nearer and whose entry has come.
  void expect(const Event& event) const;
  void expect_block(const Event& event) const;

  // What the last applied event touched; empty for calls that were refused. Valid until the next apply().
  std::span<const Touch> touched() const { return touched_; }

  // Live block that contains the address (a mapping before its reservation), also a registered host range.
  const Block* find_live(std::uint64_t address) const;
  // The live array behind its own handle or that of a level or plane, and the extents of what the handle names. The
  // width is 0 where these are not known: block-compressed and planar formats, levels in traces before 1.5.
  struct ArrayPart {
    const Block* block = nullptr;
    std::uint64_t level = 0; // or plane
    std::uint64_t width = 0, height = 1, depth = 1; // in bytes, rows and slices
    std::uint64_t offset = 0;                       // bytes of the levels before
  };
  ArrayPart find_array(std::uint64_t handle) const;
  // Newest freed block that contained the address and was not reborn there.
  const Block* find_freed(std::uint64_t address) const;
  // The same of host memory that was unregistered, where nothing is registered now.
  const Block* find_unregistered(std::uint64_t address) const;
  void for_each_live(const std::function<void(const Block&)>& visit) const;               // by birth
  void for_each_ended_with_context(const std::function<void(const Block&)>& visit) const; // leaks too

  std::uint64_t live_device_bytes() const;
  std::uint64_t peak_device_bytes() const;
  std::uint64_t peak_order() const;
  const MemoryUse& use() const; // sums by family, device and stack
  // Each piece of freed memory that nothing has taken again, by address, with the newest block that was there. The
  // last piece and the next may touch. Walks all freed blocks: not for every event.
  using VisitFreed = std::function<void(std::uint64_t begin, std::uint64_t end, const Block&)>;
  void for_each_freed(const VisitFreed& visit) const;
  bool sticky_error() const;         // a context died of an error
  std::uint16_t sticky_code() const; // 700, 719, ... of the first such error
  bool is_dead(std::uint16_t context) const; // died of an error, or any did if this one is not known
  std::uint64_t unseen_allocations() const; // accepted releases of what we never saw born
  std::uint64_t unseen_frees() const;       // births on top of live blocks
  int device_of(const Block& block) const;  // ordinal, -1 unknown
  int device_of_context(std::uint16_t context) const;
  // Whether it destroyed the context, reset it or released it for the last time; behind apply().
  bool ends_context(const Event& event, std::uint16_t context) const;
  std::uint64_t last_kernel() const;              // order of the newest launch of a kernel or graph, 0 none
  // Order of the newest call that may use memory which its record does not name: a graph's launch, a kernel's
  // whose arguments were not read, any other unread call.
  std::uint64_t last_blind_call() const;
  const Block* unfreed_of_graph(std::uint64_t executable) const; // of its last launch; null if all is freed
  // Whether the work that the call gives to the stream becomes a graph instead of running.
  bool is_capturing(const Event& e, std::uint64_t stream) const { return capture_of(e, stream) != 0; }
  // The capture that it becomes a part of, by the stream where that began (Event::own_stream()); 0 if of none.
  std::uint64_t capture_of(const Event& e, std::uint64_t stream) const;

  // Whether the kernel was ever given in this parameter the end of another argument's block, where nothing lay behind
  // that block: what lies behind it elsewhere is not meant then. Known for all launches in finish() alone.
  bool takes_end(std::uint64_t function, unsigned parameter) const;
  const Touch* argument_ending_at(std::uint64_t address) const;  // of the last applied launch; null if none does
  static constexpr std::uint64_t kLargestElement = 64;
  const Block* live_just_behind(std::uint64_t address) const; // begins at most an element behind it; null if none does

private:
  struct State;
  std::unique_ptr<State> state_;
  std::span<const Touch> touched_;
};

constexpr bool is_device_family(trace::Family family) {
  switch (family) {
  case trace::Family::kDevice:
  case trace::Family::kPitched:
  case trace::Family::kManaged:
  case trace::Family::kStreamOrdered:
  case trace::Family::kArray:
  case trace::Family::kMipmappedArray:
  case trace::Family::kVmmHandle:
  case trace::Family::kGraph: return true;
  default: return false;
  }
}

constexpr bool is_static(trace::Family family) {
  return family == trace::Family::kModuleGlobal || family == trace::Family::kManagedVariable;
}

// Of a sparse array the memory is what is mapped into it (cuda.h on CUDA_ARRAY3D_SPARSE).
inline bool is_sparse(const Block& block) {
  constexpr std::uint64_t kSparse = 0x40;
  const bool array =
    block.family == trace::Family::kArray || block.family == trace::Family::kMipmappedArray;
  return array && block.detail != nullptr && (block.detail->flags & kSparse) != 0;
}

inline bool is_device_memory(const Block& block) {
  return is_device_family(block.family) && block.place != kHostPlace && !is_sparse(block);
}

inline const BlockDetail& Block::shape() const {
  static constexpr BlockDetail kNoDetail{};
  return detail != nullptr ? *detail : kNoDetail;
}

} // namespace gmt
