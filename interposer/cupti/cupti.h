// SPDX-License-Identifier: Apache-2.0
// CUPTI's SASS metrics as the collector needs them: found and begun once, then opened, read and closed per context. Used by windows.cpp.
//
// What cupti_sass_metrics.h leaves open is relied on here and in read(), nowhere else (H100, driver 580):
//  - figures count from Enable on, so that each window's are its own;
//  - a record may hold all metrics of an instruction or one of them: records of one instruction are added up;
//  - each function that ran and could be measured has a record, whatever it did;
//  - Enable, Disable, GetDataProperties and FlushData wait for all that the context has to do;
//  - Enable patches either all functions that are loaded, and launches then never wait; or each function when it is first
//    launched in the window, and that launch waits for the context;
//  - a graph that was instantiated outside of a window and is launched in it loses its kernels without a word, or, had it been
//    launched or uploaded before, fails with misaligned address (716); one made in a window is measured there and right outside;
//  - while a stream captures, in whatever mode, GetDataProperties and Disable answer UNKNOWN (999) and invalidate the capture,
//    whichever thread calls them (H200);
//  - the configuration of a device outlives its contexts and its reset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/format.h"

struct CUpti_SassMetrics_Data;

namespace gmt::interposer::collector {

// Figures of one instruction in the order of kAccessInstruction's words P1 to P9; kUnknownCount where the chip has
// none.
inline constexpr unsigned kMetrics = 9;
inline constexpr unsigned kFirstMemoryMetric = 2; // those before it count executions

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

class Cupti {
public:
  // Once a process, in the first context; tens of milliseconds.
  Answer begin() noexcept;
  // Waits for the context. Patches all functions as long as that is quick (not if `costly`) and CUPTI can do it, as it
  // could not with PyTorch; from then on, each function at its first launch in the window.
  Answer open(std::uint64_t context, int device, bool costly) noexcept;
  // All figures since open(), each record to visit(data, figures, again): all of them twice. Waits for the context.
  using Visit = void (*)(void* data, const Figures& figures, bool again);
  Answer read(std::uint64_t context, int device, Visit visit, void* data) noexcept;
  Answer close(std::uint64_t context) noexcept; // what was not read is dropped; waits for the context
  void* library() const noexcept { return library_; } // after begin()
  // Once a window was opened on the device.
  bool knows_metric(int device, unsigned metric) const noexcept { return chips_[device].known[metric]; }

private:
  static constexpr int kMostDevices = 64;
  static constexpr std::uint64_t kMostPatching = 100'000'000; // nanoseconds
  struct Chip { // of a device: metrics have other ids on other chips
    bool configured;
    bool known[kMetrics];
    std::uint64_t ids[kMetrics];
  };
  Answer configure(int device) noexcept;
  Answer find_metrics(int device) noexcept;
  bool grow_buffer(std::size_t bytes) noexcept;
  static Figures figures_of(const CUpti_SassMetrics_Data& record, std::size_t values, const Chip& chip) noexcept;

  void* library_ = nullptr;
  Chip chips_[kMostDevices] = {};
  bool patches_at_launch_ = false;
  void* buffer_ = nullptr; // for records, kept
  std::size_t buffer_bytes_ = 0;
};

// ---- search.cpp

// Opens libcupti: what GPUMEMTRACE_CUPTI names, or version 13, then 12, wherever a CUDA toolkit keeps it. Null if there
// is none.
void* find_cupti() noexcept;
// Another tool was put into this process that needs CUPTI for itself.
bool other_profiler_is_set() noexcept;

} // namespace gmt::interposer::collector
