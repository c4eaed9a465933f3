// SPDX-License-Identifier: Apache-2.0
// What the instructions of one process's kernels did to memory, all contexts together: per function
// and instruction the sums of what was measured, joined with the code and the lines of the source.
// Detectors reach it through ProcessFacts::memory_access(); empty unless the trace was made with
// --coalescing.
//
// Only some launches are measured. Figures are of those; scaled() makes of them what all launches
// of the kernel would have done, if those that were measured are like the others. A device function
// that was not inlined has figures of its own, which belong to no kernel that is known, and are not
// scaled.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/coalescing/kernel_arguments.h"
#include "analyzer/device_code/instruction.h"
#include "analyzer/trace_reader/access_log.h"

namespace gmt {

inline constexpr std::uint64_t kSectorBytes = 32;     // what a GPU moves at least
inline constexpr std::uint64_t kWavefrontBytes = 128; // what shared memory delivers at a time
inline constexpr std::uint32_t kWarpThreads = 32;

// The code of a function by its name as linked, the offsets of its instructions that accessed
// memory and the architectures of the devices (90 for compute capability 9.0); null if none fits.
// What it points to outlives the table.
using FindCode = std::function<const FunctionCode*(std::string_view, std::span<const std::uint32_t>,
                                                   std::span<const unsigned>)>;

struct MeasuredInstruction {
  std::uint32_t offset = 0;
  AccessCounts sums;                 // 0 where the chip has no such metric
  const Instruction* code = nullptr; // null if unknown

  // Beyond the ideal, which broadcasts may stay below.
  std::uint64_t wasted_sectors() const;
  std::uint64_t wasted_wavefronts() const;
  std::uint32_t width() const; // bytes that a thread asks for; 0 unknown
};

struct MeasuredFunction {
  std::string linked, name; // the latter demangled
  std::uint64_t identity = 0;
  std::uint64_t launches = 0, measured = 0; // of the kernels of this name; 0 for device functions
  std::uint64_t shared_measured = 0;        // launches that have figures of shared memory
  std::uint64_t plain_nanoseconds = 0;      // of a launch that was not measured; 0 unknown
  std::uint64_t longest_nanoseconds = 0;    // of a launch that was measured; 0 unknown
  std::uint64_t too_costly = 0;             // launches that were due and put off
  KernelCounters counters;
  const FunctionCode* code = nullptr;            // null if unknown
  std::vector<MeasuredInstruction> instructions; // by offset

  bool is_kernel() const { return launches != 0; }
  bool has_lines() const { return code != nullptr && code->has_lines; }
  bool has_bulk_copies() const;
  std::uint64_t scaled(std::uint64_t figure) const; // to all launches
  std::uint64_t scaled_shared(std::uint64_t figure) const;
};

// The instructions of a function that are one access of the source: of one line, operation and
// width. What has no line stands alone.
struct AccessLine {
  const MeasuredFunction* function = nullptr;
  const MeasuredInstruction* worst = nullptr;      // the one that wastes most
  std::vector<const MeasuredInstruction*> members; // by offset
  AccessCounts sums;
  std::uint64_t wasted = 0; // sectors or wavefronts beyond the ideal, of what was measured
  bool shared = false;      // memory

  const SourceLine* source() const; // null without line information
  std::uint64_t wasted_in_all() const {
    return shared ? function->scaled_shared(wasted) : function->scaled(wasted);
  }
};

class MemoryAccess {
public:
  MemoryAccess() = default;
  MemoryAccess(const MemoryAccess&) = delete;
  MemoryAccess& operator=(const MemoryAccess&) = delete;

  static constexpr std::uint64_t kDefaultFloor = 1 << 20;

  // `asked`: the trace was made with --coalescing, whatever came of it. Findings of fewer wasted
  // bytes than `floor` are not made.
  void read(const std::vector<std::filesystem::path>& logs, bool asked,
            std::uint64_t floor = kDefaultFloor);
  void follow(const Event& e, const Heap& heap, const TraceNames& names) {
    uses_.follow(e, heap, names);
  }
  void join(const FindCode& find, std::span<const unsigned> architectures); // at the end

  bool asked() const { return asked_; }
  bool any() const { return !functions_.empty(); }
  std::uint64_t floor() const { return floor_; }
  const KernelUses& uses() const { return uses_; }             // what the host gave the kernels
  const std::vector<AccessLog>& logs() const { return logs_; } // their functions are moved out
  const std::vector<MeasuredFunction>& functions() const { return functions_; } // by name
  // Those that waste most in all launches first. Global memory's, and shared memory's.
  const std::vector<AccessLine>& global_lines() const { return global_; }
  const std::vector<AccessLine>& shared_lines() const { return shared_; }

  std::uint64_t sectors_in_all() const { return sectors_; } // of global memory, scaled
  bool lacks_global() const { return lacks_global_; }       // some GPU has no such metric
  bool lacks_shared() const { return lacks_shared_; }
  bool lacks_local() const { return lacks_local_; }

private:
  void add(const AccessFunction& from, MeasuredFunction& to);
  AccessCounts known(const AccessCounts& counts);
  std::vector<AccessLine> lines(bool shared) const;

  bool asked_ = false;
  std::uint64_t floor_ = kDefaultFloor;
  KernelUses uses_;
  std::vector<AccessLog> logs_;
  std::vector<MeasuredFunction> functions_;
  std::vector<AccessLine> global_, shared_;
  std::uint64_t sectors_ = 0;
  bool lacks_global_ = false, lacks_shared_ = false, lacks_local_ = false;
};

} // namespace gmt
