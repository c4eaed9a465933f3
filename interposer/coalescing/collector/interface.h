// SPDX-License-Identifier: Apache-2.0
// What the core (libgpumemtrace.so) and the collector of --coalescing (libgpumemtrace_cupti.so)
// know of each other: one table of functions each way. The core opens the collector when a session
// with that option starts, and notifies it of the program's calls from then on; a process without
// the option never loads it.
//
// Invariants: both come from one build; the collector calls the core only while the core calls it;
// nothing here throws, and nothing is called from a signal handler that cut into the collector (it
// blocks signals where it must).
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/base/options.h"
#include "trace/format.h"

namespace gmt::interposer {

class ThreadLog;

// A call of the program, as far as it matters here.
struct DriverCall {
  enum class What : std::uint8_t {
    kNothing,
    kLaunch,       // of `object` (CUfunction or CUkernel) on `stream`
    kGraphLaunch,  // of `object` (CUgraphExec) on `stream`
    kGraphUpload,  // the same, without its launch
    kGraphMade,    // `object` from `other` (CUgraph), or updated after it
    kGraphKernel,  // `node` of `object` now runs `other` (CUfunction or CUkernel)
    kGraphChanged, // `object` otherwise, or destroyed
    kWork,         // that the device does later, on `stream`
    kWorkAndWait,  // copies and sets that wait for the device, mostly
    kHiddenWork,   // on streams that are not known
    kSynchronized, // the program waited, or may have, or asked and heard that all is done
    kContextSynchronized,
    kBeginCapture, // on `stream`
    kEndCapture,
    kStreamEnds,
    kCodeEnds,    // a module or library is unloaded
    kContextEnds, // `object` is the CUcontext
    // `object` is the device, `stream` not 0 if it is reset, even where others retain it
    kPrimaryEnds,
  };
  What what = What::kNothing;
  std::uint64_t stream = 0; // 1 the legacy default stream, 2 this thread's own
  std::uint64_t object = 0, other = 0, node = 0;
  std::uint64_t warps = 0; // of a kernel's launch
};

struct CoreFunctions {
  const Options* options;
  void* (*driver_symbol)(const char* name); // the driver's own function, unrecorded
  std::uint64_t (*current_context)();       // CUcontext
  std::uint16_t (*context_id)();            // of the current context in the trace
  bool (*is_primary_context)(std::uint64_t context);
  std::uint64_t (*code_generation)(); // code_generation.h
  bool (*in_range)(const char* name); // this thread is in an NVTX range of that name
  std::uint64_t (*now)();             // nanoseconds
  // Calls that come from the object file which holds `inside` are no calls of the program from now
  // on.
  void (*profiler_was_loaded)(const void* inside);
  void (*switch_off)(); // the collector is notified of nothing more
  // process_exits() is called when the process does, before what was registered until now
  void (*notify_at_exit)();
  ThreadLog* (*make_log)(std::uint32_t number);
  // Where the record stands, null if it was lost; the log counts it.
  trace::Slot* (*append)(ThreadLog* log, trace::Kind kind, const std::uint64_t* words,
                         unsigned count, std::uint16_t context);
  std::uint64_t (*append_text)(ThreadLog* log, const char* text, std::size_t length); // its id
  bool (*path_of)(const char* file, char* buffer, std::size_t size);
  bool (*take_budget)(std::uint64_t bytes);
  bool (*initial_environment)(const char* name, char* value, std::size_t size);
  bool (*is_in_file)(const void* address); // inside the mapping of a loaded object file
  // Calls visit(context, path) for loaded objects whose file name begins with `prefix`, until it
  // answers false.
  void (*each_object)(const char* prefix, bool (*visit)(void* context, const char* path),
                      void* context);
  void* (*find_symbol)(void* library, const char* name);
};

struct CollectorFunctions {
  // Around each call; what before() answers is given to after(), 0 if there is nothing to do there.
  std::uint64_t (*before)(const DriverCall& call);
  void (*after)(const DriverCall& call, std::uint64_t token, bool succeeded);
  // A module was loaded from memory. `bytes` is 0 if the image itself has to say.
  void (*code_was_loaded)(const void* image, std::size_t bytes);
  void (*process_exits)(); // by exit() or main's end; other threads may go on
  void (*forget)();        // in a forked child
};

inline constexpr char kCollectorLibrary[] = "libgpumemtrace_cupti.so";
inline constexpr char kCollectorSymbol[] = "gmt_collector"; // of type OpenCollector
using OpenCollector = const CollectorFunctions* (*)(const CoreFunctions* core);

} // namespace gmt::interposer
