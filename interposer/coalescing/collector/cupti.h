// SPDX-License-Identifier: Apache-2.0
// CUPTI's SASS metrics as the collector needs them: found and begun once, then opened, read and
// closed per context.
//
// What cupti_sass_metrics.h leaves open is relied on here and in read(), nowhere else (H100, driver
// 580):
//  - figures count from Enable on, so that each window's are its own;
//  - a record may hold all metrics of an instruction or one of them: records of one instruction are
//  added up;
//  - each function that ran, could be measured and has an instruction that a metric counts has a
//  record;
//  - a metric patches the instructions that it counts and no others: one that counts all
//  instructions makes kernels that
//    compute 80 to 290 times slower, those of memory alone leave them as fast as they are (H200);
//  - Enable, Disable, GetDataProperties and FlushData wait for all that the context has to do;
//  - Enable patches either all functions that are loaded, and launches then never wait; or each
//  function when it is first
//    launched in the window, and that launch waits for the context;
//  - a graph that was instantiated outside of a window and is launched in it loses its kernels
//  without a word, or, had it been
//    launched or uploaded before, fails with misaligned address (716); one made in a window is
//    measured there and right outside;
//  - while a stream captures, in whatever mode, GetDataProperties and Disable answer UNKNOWN (999)
//  and invalidate the capture,
//    whichever thread calls them (H200);
//  - the configuration of a device outlives its contexts and its reset, and can be replaced while
//  no window is open.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/coalescing/collector/profiler.h"

struct CUpti_SassMetrics_Data;

namespace gmt::interposer::collector {

// CUPTI's metrics that the figures are made of. A figure is the sum of several where each counts
// instructions of another class.
inline constexpr unsigned kSources = 14;

class Cupti final : public InstructionMetrics {
public:
  Answer begin() noexcept override;
  Answer open(std::uint64_t context, int device, Part part, bool costly) noexcept override;
  Part part(int device) const noexcept override { return chips_[device].part; }
  bool can_open(int device, Part part) const noexcept override {
    return device < 0 || device >= kMostDevices || chips_[device].windows == 0 ||
           chips_[device].part == part;
  }
  Answer read(std::uint64_t context, int device, Visit visit, void* data) noexcept override;
  Answer close(std::uint64_t context, int device) noexcept override;
  bool knows_metric(int device, unsigned metric) const noexcept override {
    return chips_[device].known[metric];
  }
  void* library() const noexcept { return library_; } // after begin()

private:
  static constexpr int kMostDevices = 64;
  static constexpr std::uint64_t kMostPatching = 100'000'000; // nanoseconds
  struct Chip { // of a device: metrics have other ids on other chips
    bool configured;
    bool is_fixed; // another part was refused
    Part part;     // if configured
    unsigned windows;
    bool known[kMetrics];
    bool has[kSources];
    std::uint64_t ids[kSources];
  };
  Answer configure(int device, Part part) noexcept;
  Answer set_part(int device, Part part) noexcept;
  Answer find_metrics(int device) noexcept;
  bool grow_buffer(std::size_t bytes) noexcept;
  static Figures figures_of(const CUpti_SassMetrics_Data& record, std::size_t values,
                            const Chip& chip) noexcept;

  void* library_ = nullptr;
  Chip chips_[kMostDevices] = {};
  bool patches_at_launch_ = false;
  void* buffer_ = nullptr; // for records, kept
  std::size_t buffer_bytes_ = 0;
};

// ---- search.cpp

// Opens libcupti: what GPUMEMTRACE_CUPTI names, or version 13, then 12, wherever a CUDA toolkit
// keeps it. Null if there is none.
void* find_cupti() noexcept;
// Another tool was put into this process that needs CUPTI for itself.
bool other_profiler_is_set() noexcept;

} // namespace gmt::interposer::collector
