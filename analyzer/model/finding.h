// SPDX-License-Identifier: Apache-2.0
// What a detector found: one finding is one mistake (or one group of equal mistakes) with every
// call stack that matters. Stacks are ids until their frames are known; texts leave open how the
// program names its calls (text.h). Sizes are bytes, addresses are the program's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/access_figures.h"
#include "analyzer/model/event.h"
#include "analyzer/model/stack_role.h"
#include "analyzer/model/text.h"

namespace gmt {

enum class Severity : std::uint8_t { kNote, kWarning, kError };

// Addresses of code in a module, before its load bias is added; the end is exclusive.
struct CodeRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const CodeRange&) const = default;
};

// A function that makes tail calls: it may have been called and be gone from the stack.
struct Callee {
  std::string function;        // demangled
  std::vector<CodeRange> code; // all of it, clones included; in the caller's module
};

// One frame as a person reads it. An inlined function has its own frame with `inlined` set,
// innermost first.
struct Frame {
  std::uint64_t address = 0; // in the process, as the return address was captured
  std::string function;      // demangled, with parameters; empty if unknown
  std::string file;          // as the compiler recorded it; empty without line information
  std::uint32_t line = 0;
  std::string module;              // path of the object file, empty if unknown
  std::uint64_t module_offset = 0; // address - load bias of the module
  bool inlined = false;
  // Stands for what left no frame: the next frame called a function that ended in a tail call,
  // maybe several in turn.
  bool tail_call = false;
  // "python"; empty for native code, whose `file` and `line` come from its debug information
  std::string language = {};
  std::shared_ptr<const Callee> callee = nullptr; // called from here, as far as it makes tail calls
};

// A thread of a kernel, as far as it is known.
struct DeviceThread {
  std::string kernel;       // demangled, empty if unknown
  std::uint64_t launch = 0; // which of the kernel's launches, from 1; 0 unknown
  // None where all of them are meant
  std::optional<std::array<std::uint32_t, 3>> block = {}, thread = {};
};

// Where a kernel met a fault, as far as it is known.
struct DeviceFault {
  // The simulated device and checks in the kernel's code see each access of each thread; a GPU's
  // core dump names the instruction, and leaves open which of its threads it was.
  enum class Source : std::uint8_t { kSimulatedDevice, kCoreDump, kKernelCheck };
  enum class Certainty : std::uint8_t { kExact, kInferred };
  Source source = Source::kSimulatedDevice;
  Certainty certainty = Certainty::kExact;
  DeviceThread thread;
  std::optional<std::uint64_t> instruction = {}; // offset in its function's code
  std::string operation = {}; // "load", "store", "atomic", "reduction", "copy"; empty if none
  std::string space = {};     // "global", "shared", ...; empty if unknown
  std::uint32_t width = 0;    // bytes of one thread's access, 0 unknown
};

struct CallStack {
  StackId stack;
  std::string api;           // the call as the program wrote it: cudaMalloc, else cuMemAlloc
  std::vector<Frame> frames; // innermost first; filled when symbols are resolved
  // In a kernel: its frames are the detector's, `stack` is 0
  std::optional<DeviceThread> device = {};
};

struct FindingStack : CallStack {
  StackRole role = StackRole::kCalled;
  StackOrder order = StackOrder::kOnly;
  std::optional<MemoryAmount> amount = {}; // where several call sites have a part each
};

// What was held, and by which code, when an allocation failed: of one device's memory, or of the
// host's that CUDA has pinned.
struct HeldMemory {
  struct Holder {
    std::size_t stack = 0; // index into Finding::stacks
    std::uint64_t bytes = 0, blocks = 0;
  };
  struct Module {      // that allocated it: of the first frame that is not CUDA's
    std::string path;  // empty if unknown
    std::string owner; // "cuBLAS", empty if it is no known library
    std::uint64_t bytes = 0, blocks = 0;
  };
  // Where addresses come from: a memory pool, or what cudaMalloc and cudaMallocPitch draw from. How
  // much of the freed memory the driver has given to others is not in the trace.
  struct Pool {
    std::string name;                               // "default pool", "outside pools"
    std::uint64_t bytes = 0, blocks = 0;            // held
    std::uint64_t freed_bytes = 0;                  // and not taken again
    std::uint64_t largest_freed = 0;                // in one piece
    std::optional<std::uint64_t> release_threshold; // if the program set one

    // The share of the freed memory that lies outside its largest piece, 0 to 1.
    double fragmentation() const {
      return freed_bytes == 0
               ? 0
               : 1 - static_cast<double>(largest_freed) / static_cast<double>(freed_bytes);
    }
  };
  std::uint64_t requested_bytes = 0;
  bool is_host = false;
  int device = -1;                     // -1: not known, then all devices' memory counts
  std::uint64_t bytes = 0, blocks = 0; // held by the program
  // Of the device, as the driver said right after
  std::optional<std::uint64_t> free_bytes, total_bytes;
  std::vector<Holder> holders;                      // the largest, largest first
  std::uint64_t other_holders = 0, other_bytes = 0; // call stacks that held less
  std::vector<Module> modules;                      // those that held most first
  std::vector<Pool> pools;

  // An estimate of what no traced process held: contexts, code, memory that pools keep, other
  // programs.
  std::optional<std::uint64_t> untraced_bytes() const {
    if (!free_bytes || !total_bytes) return std::nullopt;
    const std::uint64_t taken = *total_bytes - std::min(*free_bytes, *total_bytes);
    return taken - std::min(bytes, taken);
  }
};

// What the numbers of a finding are about.
enum class Measure : std::uint8_t {
  kMistakes, // the count is how often it happened
  kBlocks,   // the count is a number of allocations, the bytes are theirs
  // The same, and the bytes are lost to the program: they are what the finding is about
  kLostBlocks,
};

// The library that did something for itself.
struct Owner {
  std::string name; // "cuBLAS"; empty: it is the program's own doing
  std::string why;  // half a sentence: "its workspace lives as long as the handle"
};

// When a call was made, in the trace's own units, and by which thread.
struct Moment {
  std::uint64_t time = 0;
  std::uint32_t thread = 0;
};

struct FindingFacts {
  std::string kind; // its detector's id: "leak", "double-free", ...
  Severity severity = Severity::kError;
  std::uint64_t bytes = 0;
  std::uint64_t count = 1;
  std::optional<std::uint64_t> address; // an example, where one address matters
  // NVTX ranges open at the example (a leak's allocation), "epoch 2 / forward"; empty if none
  std::string range;
  std::string api;                // the call at fault as the program wrote it; empty if none is
  std::optional<HeldMemory> held; // out-of-memory alone
  std::optional<AccessFigures> access = {}; // those of memory accesses alone
  std::optional<DeviceFault> fault = {};    // those of faults in kernels alone
  // When the example was found; none: behind the last call
  std::optional<Moment> moment = {};
};

struct Finding : FindingFacts {
  Text message; // one sentence without its full stop: what happened, with numbers
  Text advice;  // whole sentences: what to do
  Owner owner;
  std::vector<FindingStack> stacks; // the call at fault first, then backwards in time

  // Findings of one kind with equal keys are merged by grouping: counts and bytes add up, the first
  // stays the example. A detector puts here what must be equal besides kind, api and stacks (a kind
  // of memory, an error code).
  std::string group;
};

// A kind that could not be evaluated, or only in part: silence must never look like health.
struct NotChecked {
  std::string what; // a finding's id, or a sentence's subject
  std::string why;
  bool is_of_run = false; // true of the run only if each of its processes says so
};

} // namespace gmt
