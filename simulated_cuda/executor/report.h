// SPDX-License-Identifier: Apache-2.0
// What the executor says about a launch: reports of mistakes, events of the device heap, how the
// launch ended. Texts live until the observer's function returns. Names of functions are linked
// names. Addresses in shared, local and parameter memory are offsets in that memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gmt::executor {

enum class ReportKind : std::uint8_t {
  kOutOfBounds,
  kUseAfterFree,
  kMisaligned,
  kUninitializedRead,
  kSharedRace,
  kGlobalRace,
  kBarrierDivergence, // threads of one warp wait at different barriers, or some have left it out
  kDeadlock,          // no thread of the block or grid can go on
  kAssert,            // `message` is the text that CUDA prints
  kTrap,
  kIllegalInstruction,
  kStackOverflow,
  kInvalidAddressSpace, // an access to one space by an address of another
  kInvalidJump,         // an indirect call to no function
  kHang,                // all threads wait or poll, and nothing changes any more
  kOther,
};

enum class Space : std::uint8_t {
  kUnknown,
  kGlobal,
  kShared,
  kLocal,
  kConstant,
  kParameter,
  kGeneric
};
enum class Access : std::uint8_t { kUnknown, kLoad, kStore, kAtomic, kReduction, kCopy };

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct SourceLine {
  std::string function; // empty: the function that has the code
  std::string file;
  std::uint32_t line = 0;
};

// A thread at an instruction.
struct Location {
  std::vector<SourceLine> lines; // innermost first; empty without line information
  std::string function;          // the kernel or device function that has the code
  std::string instruction;       // text of the PTX
  std::uint32_t ptx_line = 0;
  bool has_thread = false;
  Extent block{0, 0, 0}, thread{0, 0, 0};
};

struct Report {
  ReportKind kind = ReportKind::kOther;
  Location location; // the first thread that it happened to
  std::uint64_t address = 0;
  bool has_address = false;
  std::uint32_t bytes = 0; // of the access of one thread
  Space space = Space::kUnknown;
  Access access = Access::kUnknown;
  std::uint64_t count = 1; // how often the instruction did it in this launch
  // The CUresult with which a GPU stops the kernel here; 0: it goes on.
  std::uint32_t gpu_error = 0;
  // Races: the earlier access. Barriers: another thread that waits elsewhere.
  bool has_other = false;
  Location other;
  Access other_access = Access::kUnknown;
  // What lies nearest in shared, local or parameter memory; 0 bytes: nothing is known
  std::uint64_t neighbour_begin = 0, neighbour_bytes = 0;
  std::string neighbour_name;
  std::string message;
};

// malloc() and free() of a thread. An exhausted heap gives address 0.
struct HeapEvent {
  enum class Kind : std::uint8_t { kMalloc, kFree, kInvalidFree, kDoubleFree } kind = Kind::kMalloc;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0; // asked for; of a free: of its block
  std::uint64_t alive_bytes = 0, capacity = 0;
  Location location;
};

enum class End : std::uint8_t {
  kDone,
  kSkipped, // nothing ran: `reason` and `location` say why
  kStopped, // at a limit, in the middle
  kFault,   // ended by a trap, an assert or another error that ends a grid: `gpu_error`
};

// What a launch executed and a GPU may compute otherwise: an approximate instruction, an addition
// by several threads, whose order is open ("atom.add.f32"), or two that a GPU may round once
// ("mul.f32 and add.f32").
struct Inexact {
  std::string feature;
  std::uint64_t thread_instructions = 0; // 0: not counted
};

struct Outcome {
  End end = End::kDone;
  std::string reason;
  // Of what cannot be executed; of a stopped launch: where one of its threads was
  Location location;
  // Of the first mistake for which a GPU would have stopped the kernel: 700, 710, 716, 719, ...; 0:
  // none. The executor itself goes on for a while after 700, 716 and 717, without the access.
  std::uint32_t gpu_error = 0;
  std::uint64_t thread_instructions = 0, warp_instructions = 0, blocks_done = 0;
  double seconds = 0;
  std::vector<Inexact> inexact;
  // Why races in global memory were not looked for everywhere; empty: they were, or checks are off
  std::string races_left_out;
};

// Its functions are called by the thread that runs the launch.
class Observer {
public:
  virtual ~Observer() = default;
  // Reports come at the end of the launch, one for each kind and instruction.
  virtual void report(const Report&) {}
  virtual void heap_event(const HeapEvent&) {}
  virtual void print(const std::string& /*text of vprintf*/) {}
  // The line that CUDA writes to stderr for a device assert.
  virtual void print_error(const std::string&) {}
  // Some ten times a second; false ends the launch, which then counts as stopped.
  virtual bool progress(std::uint64_t /*blocks_done*/, std::uint64_t /*blocks*/,
                        double /*seconds*/) {
    return true;
  }
};

} // namespace gmt::executor
