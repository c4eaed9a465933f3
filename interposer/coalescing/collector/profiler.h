// SPDX-License-Identifier: Apache-2.0
// What measures kernels, as windows and countings need it. CUPTI does (cupti.h, counters.h), and a
// made-up device in tests. Called once a window or counting, by one thread at a time; never for a
// plain launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/format.h"

struct CUpti_RangeProfiler_Object;

namespace gmt::interposer::collector {

// Figures of one instruction in the order of kAccessInstruction's words from executions on;
// kUnknownCount where the chip has none.
inline constexpr unsigned kMetrics = 9;
inline constexpr unsigned kFirstMemoryMetric = 2; // those before it count executions

// Which instructions a window measures. Those of shared memory are dear: a product of matrices by
// tiles takes some 15 times as long where the others are measured, and over 200 times with them
// (H200).
enum class Part : std::uint8_t { kAll, kGlobal }; // the latter with local memory
inline constexpr unsigned kParts = 2;

struct Figures {
  std::uint32_t cubin, function; // CUPTI's checksum and the symbol's index
  const char* name;              // of the function, as linked
  std::uint32_t offset;
  std::uint64_t values[kMetrics]; // 0 where this record says nothing
};

// What a step led to. `result` is the CUptiResult.
struct Answer {
  trace::AccessTrouble trouble = trace::AccessTrouble::kNone;
  std::uint64_t result = 0;
  bool good() const noexcept { return trouble == trace::AccessTrouble::kNone; }
};
inline constexpr Answer kMeasuresNothing{trace::AccessTrouble::kNoLibrary, 0};

// Figures of instructions, of all that a context does between open() and read(). No function is
// pure: there would be one of the C++ library behind it.
class InstructionMetrics {
public:
  // Once a process, in the first context; tens of milliseconds.
  virtual Answer begin() noexcept { return kMeasuresNothing; }
  // Waits for the context. Patches all functions as long as that is quick (not if `costly`) and
  // CUPTI can do it, as it could not with PyTorch; from then on, each function at its first launch
  // in the window. All windows that are open on a device at one time measure the same part.
  virtual Answer open(std::uint64_t, int, Part, bool /*costly*/) noexcept {
    return kMeasuresNothing;
  }
  virtual Part part(int /*device*/) const noexcept {
    return Part::kAll;
  } // that the open windows measure
  virtual bool can_open(int /*device*/, Part) const noexcept { return true; }
  // All figures since open(), each record to visit(data, figures, again): all of them twice. Waits
  // for the context.
  using Visit = void (*)(void* data, const Figures& figures, bool again);
  virtual Answer read(std::uint64_t, int, Visit, void* /*data*/) noexcept {
    return kMeasuresNothing;
  }
  virtual Answer close(std::uint64_t, int) noexcept {
    return kMeasuresNothing;
  } // what was not read is dropped; waits, too
  virtual bool knows_metric(int /*device*/, unsigned /*metric*/) const noexcept {
    return true;
  } // once a window was opened

protected:
  ~InstructionMetrics() = default;
};

// Counters of all that a context does between begin() and end(), in one of several passes.
class KernelCounters {
public:
  static constexpr unsigned kPasses = 2;
  // In the order of kAccessCounters' words from read_bytes to l2_hits
  static constexpr unsigned kFigures = 12;
  struct Figures {
    std::uint64_t sums[kFigures];
    std::uint32_t counted; // bit n: sums[n] is of this pass
  };

  // The context must be current. `pass` becomes the last if the chip has fewer. `profiler` is the
  // context's own, null at first; kept by the caller, for the calls below.
  virtual Answer begin(std::uint64_t, int, unsigned& /*pass*/,
                       CUpti_RangeProfiler_Object*&) noexcept {
    return kMeasuresNothing;
  }
  virtual Answer end(int, CUpti_RangeProfiler_Object*, Figures*) noexcept {
    return kMeasuresNothing;
  } // null to drop them
  virtual void forget(CUpti_RangeProfiler_Object*) noexcept {} // before its context ends

protected:
  ~KernelCounters() = default;
};

} // namespace gmt::interposer::collector
