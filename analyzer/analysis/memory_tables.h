// SPDX-License-Identifier: Apache-2.0
// Which memory one process used, and how much, as the report shows it: rows without anything in
// them are left out, and rows are in a fixed order. The report builder fills in what needs symbols
// and modules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/analysis/stack_memory.h"
#include "analyzer/model/finding.h"

namespace gmt {

class CopyUse;
class Heap;
class StackTable;
class TraceNames;
struct Module;

inline constexpr std::size_t kMaxHolders = 10;
// One line of Python makes many: formats that show lines join them
inline constexpr std::size_t kMaxTensorStacks = 200;

struct MemoryTables {
  struct KindRow {
    std::string memory_kind; // "pinned host memory"
    int device = -1;         // of its context; -1 for host memory, and where it is not known
    std::uint64_t allocations = 0, allocated_bytes = 0, frees = 0;
    std::uint64_t live_blocks = 0, live_bytes = 0, peak_bytes = 0; // at the end; of this row alone
  };
  struct Device { // its own peak, which need not be at the process's
    int device = -1;
    std::uint64_t peak_bytes = 0, live_bytes = 0;
  };
  struct Copies {
    std::string direction; // "host to device"
    std::uint64_t copies = 0, bytes = 0, pageable_bytes = 0;
  };
  struct Holder { // of device memory at the peak
    std::uint64_t bytes = 0, blocks = 0;
    CallStack stack; // of the allocation
    // Of tensors: the part of a PyTorch model, as module_path() names it. Empty until the report
    // has looked at sources.
    std::string model_part{};
  };
  struct Module {      // that allocated: of the first frame that is not CUDA's
    std::string path;  // empty if unknown
    std::string owner; // "cuBLAS", empty if it is no known library
    std::uint64_t allocations = 0, allocated_bytes = 0;
    std::uint64_t peak_bytes = 0; // of device memory, at the process's peak
    std::uint64_t live_bytes = 0; // at the end, of any memory
  };
  // What PyTorch's caching allocator gave out: inside of device memory, in none of the other rows
  // but those by kind.
  struct Tensors {
    std::uint64_t allocations = 0;
    std::uint64_t peak_bytes = 0;                  // of tensors alive at once
    std::uint64_t live_bytes = 0, live_blocks = 0; // at the end
    std::vector<Holder> holders;                   // at their peak: the kMaxTensorStacks largest
    std::uint64_t other_holders = 0, other_bytes = 0;
  };
  // Memory alive at the end that a known library keeps for itself, and how much of it.
  struct Library {
    std::string owner; // "PyTorch's caching allocator"
    std::uint64_t bytes = 0, blocks = 0;
  };
  std::vector<KindRow> memory_kinds;
  std::vector<Device> devices;
  std::vector<Copies> copies;
  std::vector<Holder> holders;     // the kMaxHolders largest
  std::uint64_t other_holders = 0; // stacks that held less
  std::uint64_t other_bytes = 0;
  std::vector<Module> modules; // those that allocated most first
  Tensors tensors;
  std::vector<Library> libraries; // those that keep most first
};

// All but the modules. At the end of the analysis.
MemoryTables memory_tables(const Heap& heap, const CopyUse& copies, const TraceNames& names);
std::vector<StackUse> use_by_stack(const Heap& heap);
std::vector<MemoryTables::Module> use_by_module(std::span<const StackUse> uses,
                                                const StackTable& stacks,
                                                std::span<const Module> modules);

} // namespace gmt
