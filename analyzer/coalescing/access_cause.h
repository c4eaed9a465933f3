// SPDX-License-Identifier: Apache-2.0
// What the figures of one access of the source mean: whether it wastes traffic, and which pattern
// of addresses they leave possible. Pure functions of the table. docs/findings/ states each
// formula.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/coalescing/memory_access.h"
#include "analyzer/model/finding.h"

namespace gmt {

// Found from here on. A 4-byte access off its sectors takes 5 instead of 4: 1.25, and a little less
// where an array's last warp has nothing behind it (1.2499981 measured on an H200).
inline constexpr double kNoteRatio = 1.245;
inline constexpr double kWarningRatio = 2; // above

// How many times the ideal an access took, as far as its threads' own doing goes; 0 if it has no
// ideal. Where warps are not whole, what a whole one would take is no waste: CUPTI's ideal is that
// of the active threads alone, which a warp whose other threads sit out cannot reach.
double severity_ratio(const AccessLine& line); // global memory
double conflict_ratio(const AccessLine& line); // shared memory

// All 32 threads of each warp asked for their bytes, but for a few last warps.
bool has_whole_warps(const AccessCounts& sums, std::uint32_t width);

enum class AccessCause : std::uint8_t {
  kUnknown,
  kMisaligned, // neighbours are adjacent, the first starts off a sector
  kStride,     // neighbours are `bytes` apart
  kStruct,     // the same, and several instructions read parts of those bytes
  kApart,      // neighbours are at least a sector apart: every thread takes one of its own
  kTransposed, // the same, while the other side of the line is coalesced
  kScattered,  // neighbours have no distance that fits
};

struct CauseFound {
  AccessCause cause = AccessCause::kUnknown;
  std::uint32_t bytes = 0; // from one thread's address to the next one's
  bool is_least = false;   // of `bytes`: it may be more
  std::uint32_t width = 0; // of the access
};

CauseFound cause_of(const AccessLine& line, const MemoryAccess& access);
std::string_view id_of(AccessCause cause);     // "stride"; empty for kUnknown
std::string describe(const CauseFound& cause); // half a sentence; empty for kUnknown
std::string brief(const CauseFound& cause);    // "stride of 8 or more"; empty for kUnknown
std::string_view advice_for(const CauseFound& cause, bool is_atomic);

bool is_atomic(const AccessLine& line);
AccessOperation operation_of(const AccessLine& line);
AccessFigures global_figures(const AccessLine& line, const MemoryAccess& access);
AccessFigures shared_figures(const AccessLine& line, const MemoryAccess& access);

} // namespace gmt
