// SPDX-License-Identifier: Apache-2.0
// Words and stacks that findings about kernels' faults share, wherever the fault was seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/detectors/process_facts.h"
#include "analyzer/device_heap/launch_log.h"
#include "analyzer/model/core_dump.h"
#include "analyzer/model/finding.h"

namespace gmt {

class Heap;
struct GraphWork;

// Kinds of findings.
namespace fault_kinds {
inline constexpr std::string_view kOutOfBounds = "kernel-out-of-bounds";
inline constexpr std::string_view kUseAfterFree = "kernel-use-after-free";
inline constexpr std::string_view kMisaligned = "kernel-misaligned";
inline constexpr std::string_view kUninitializedRead = "kernel-uninitialized-read";
inline constexpr std::string_view kSharedRace = "shared-race";
inline constexpr std::string_view kGlobalRace = "global-race";
inline constexpr std::string_view kBarrierDivergence = "barrier-divergence";
inline constexpr std::string_view kHang = "kernel-hang";
inline constexpr std::string_view kAssert = "kernel-assert";
inline constexpr std::string_view kFault = "kernel-fault";
} // namespace fault_kinds

std::string kernel_words(std::string_view linked); // demangled and short; "a kernel" if unknown
// "writes 4 bytes", "reads from shared memory"; `space` is empty or "global" for global memory.
std::string access_verb(std::string_view operation, std::uint64_t bytes, std::string_view space);
std::string access_noun(std::string_view operation, std::uint64_t bytes); // "4-byte store"
// "faults.cu:8", "offset 0x130 of its code" where no line is known, else empty.
std::string source_words(const std::vector<KernelLine>& lines, std::optional<std::uint64_t> offset);

// The lines as frames of a kernel's stack.
FindingStack kernel_stack(StackRole role, const std::string& kernel_linked,
                          const std::string& function_linked, const std::vector<KernelLine>& lines);
// Where the host launched it, made its node, or captured it.
FindingStack launch_stack(const LoggedLaunch& launch, const TraceNames& names);

// The lines of a Text as trace/FORMAT.md has them.
std::vector<KernelLine> parse_lines(std::string_view text);

// Which launches a faulting grid may be of: those of its kernel and extents whose grid may have the
// id, or, if there is none, those whose grid has no higher one.
// Those that the host does not know to be done come before all others. Equal call stacks are one
// candidate; two are two.
struct LaunchCandidate {
  const LoggedLaunch* launch = nullptr; // of the kernel, or of a graph
  const GraphWork* made = nullptr;      // of a graph: what gave it the kernel
  bool is_one_context = true;           // else launches from there in other contexts fit as well
};

// The grid that met a fault. `kernel` is linked, extents of 0 are not known.
struct FaultingGrid {
  std::string_view kernel;
  const Extents& grid;
  const Extents& block;
  std::uint64_t id = 0; // 0 unknown
};

// Newest first. At most `most`. Valid until the heap's next event.
std::vector<LaunchCandidate> launch_candidates(const FaultingGrid& faulting,
                                               const ProcessFacts& facts, const Heap& heap,
                                               std::size_t most);

void add_stacks(Finding& f, const LaunchCandidate& candidate, const TraceNames& names);

} // namespace gmt
