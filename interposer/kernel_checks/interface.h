// SPDX-License-Identifier: Apache-2.0
// What the core (libgpumemtrace.so) and the library of --kernel-checks (libgpumemtrace_checks.so)
// know of each other: one table of functions each way. The library puts functions of its own in the
// driver's place; a call reaches them through its entry, so it is recorded as the program made it.
//
// Invariants: both come from one build; nothing here throws; the library is never unloaded.
#pragma once

#include <cstdint>

#include "interposer/base/toolkit_search.h"
#include "trace/execution_observer.h"

namespace gmt::interposer {

// What the user chose. The texts live as long as the process.
struct KernelChecksSettings {
  const char* only_kernels = ""; // as ptx/names/kernel_choice.h reads them
  const char* skip_kernels = "";
  std::uint64_t launches = 0;      // of each kernel that are checked; 0: all
  const char* launch_numbers = ""; // of each kernel, as ptx/names/launch_choice.h reads them
  const char* range = "";          // in which launches are checked; "profiler": between its calls
  const char* processes = "";      // programs whose processes are checked; empty: all
  bool samples = false;            // as many launches as cost under 2 % of the run's time
  bool patches_code = false;       // machine code without PTX is patched
  bool checks_written = false;     // reads of bytes that nothing wrote are found
  // Not empty: nothing is checked, and one launch is stored in a file. NAME or NAME:N.
  const char* capture = "";
  std::uint64_t capture_limit = 0; // bytes
  unsigned capture_wait = 0;       // seconds
};

struct KernelChecksCore {
  void* (*driver_symbol)(const char* name); // the driver's own function, unrecorded
  // From now on calls of the driver's function go to this one. False: there is no such row, or
  // something else stands in the function's place already.
  bool (*replace)(const char* name, void* function);
  std::uint64_t (*call_in_progress)(); // its order in the trace, 0 if there is none
  void (*found)(const trace::ExecutionFault* fault);
  void (*unchecked)(const char* kernel, const char* reason, std::uint64_t launches);
  void (*notify_command)(const char* word, const char* text); // a note of one line
  // Whether the calling thread is in the NVTX range of this name, or the program between
  // cuProfilerStart and cuProfilerStop ("profiler")
  bool (*is_in_range)(const char* name);
  // process_exits() is called when the process does, before what was registered until now
  void (*notify_at_exit)();
  KernelChecksSettings settings;
  ToolkitSearch toolkit{}; // with nothing in it no library of NVIDIA's is looked for
  // True: what this thread copies from now on is the tool's, and no read of the program's.
  void (*own_copies)(bool begin) = nullptr;
};

// A pool that has all of each block in which a region of its lies. What it says makes no CUDA call.
inline constexpr std::uint64_t kPoolOfBlock = ~std::uint64_t{0};
// The one whose region begins at the address, which gets another size.
inline constexpr std::uint64_t kPoolOfRegion = kPoolOfBlock - 1;

struct KernelChecksLibrary {
  void (*process_exits)(); // by exit() or main's end; other threads may go on
  void (*forget)();        // in a forked child
  // Pools, by a number each: of their memory only regions are valid that they give out,
  // and take back in the order of streams. 0 bytes: where is not known.
  void (*pool_begins)(std::uint64_t pool, std::uint64_t begin, std::uint64_t bytes);
  void (*pool_ends)(std::uint64_t pool);
  void (*pool_is_reset)(std::uint64_t pool); // all of its regions have come back
  void (*region_given_out)(std::uint64_t pool, std::uint64_t address, std::uint64_t bytes);
  void (*region_given_back)(std::uint64_t address);
};

inline constexpr char kKernelChecksLibrary[] = "libgpumemtrace_checks.so";
inline constexpr char kKernelChecksSymbol[] = "gmt_kernel_checks"; // of type OpenKernelChecks
using OpenKernelChecks = const KernelChecksLibrary* (*)(const KernelChecksCore* core);

} // namespace gmt::interposer
