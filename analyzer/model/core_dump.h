// SPDX-License-Identifier: Apache-2.0
// What a GPU's core dump says of a fault, as evidence and without conclusions: which instruction,
// in which grid, and which addresses the threads that the dump still has computed for it. A lane's
// exception is its warp's, so none of these threads is known to have done it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gmt {

// A line of the source; inlined functions are in turn, innermost first.
struct KernelLine {
  std::string function; // as linked or as written; empty: the one that has the code
  std::string file;     // empty if unknown
  std::uint32_t line = 0;
  bool operator==(const KernelLine&) const = default;
};

using Extents = std::array<std::uint32_t, 3>;

// Neighbouring threads of a block (numbered with x fastest) whose addresses are evenly spaced.
struct DumpLanes {
  Extents block{};
  std::uint32_t first_thread = 0, count = 0;
  std::uint64_t address = 0; // of the first
  std::int64_t stride = 0;   // from one to the next
  std::uint64_t address_of(std::uint32_t i) const {
    return address + static_cast<std::uint64_t>(stride) * i;
  }
};

struct DumpFault {
  enum class Evidence : std::uint8_t {
    kWarp,      // the warp names the instruction: it is there
    kProcessor, // only the multiprocessor does: the warp that executed it may be gone
    kStopped,   // threads stand behind the instruction
    kGrid,      // nothing but the grid that ran
  };
  static constexpr std::uint32_t kNone = 0, kAssert = 12; // of `exception`

  std::uint32_t exception = kNone; // CUDBGException_t of cudadebugger.h
  Evidence evidence = Evidence::kGrid;
  std::string kernel;   // as linked; empty if unknown
  std::string function; // that has the instruction, as linked
  std::uint64_t grid_id = 0;
  Extents grid{}, block{};              // extents; 0 unknown
  std::optional<std::uint64_t> offset;  // of the instruction in its function
  std::string operation, space;         // "store", "global"; empty if it accesses no memory
  std::uint32_t bytes = 0;              // of one thread's access, 0 unknown
  std::vector<KernelLine> lines;        // innermost first
  std::uint64_t warps = 0, threads = 0; // that the dump still has of it
  // The threads' block where all of them are of one, and a thread where it is the only one
  std::optional<Extents> only_block, only_thread;
  // Of an assert: its condition, and the first of the threads for which it did not hold. Their
  // number is that of `threads`
  std::string condition; // empty if unknown
  std::optional<Extents> failed_block, failed_thread;
  std::vector<DumpLanes> addresses;  // of threads whose registers still have them
  std::vector<DumpLanes> low_halves; // of others: the low 32 bits, where these are left
  std::uint64_t without_address = 0; // threads whose registers do not
  bool has_more_addresses = false;   // than are kept
};

struct DumpGrid {
  std::uint64_t id = 0;
  std::string kernel; // as linked
  Extents grid{}, block{};
};

struct CoreDump {
  std::string device; // "NVIDIA H200"
  std::uint64_t bytes = 0;
  std::vector<DumpGrid> grids;
  std::vector<DumpFault> faults;
  std::string problem; // why it could not be read, or only in part; empty if all was
};

// Of cudadebugger.h: "illegal address".
std::string_view exception_words(std::uint32_t exception);

} // namespace gmt
