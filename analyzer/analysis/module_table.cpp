// SPDX-License-Identifier: Apache-2.0
// Which library or executable allocated: the first frame of each stack that is not CUDA's runtime,
// its driver or the recorder. See memory_tables.h.

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/analysis/memory_tables.h"
#include "analyzer/analysis/owners.h"
#include "analyzer/symbols/frame_trim.h"
#include "analyzer/trace_reader/object_files.h"
#include "analyzer/trace_reader/stack_table.h"

namespace gmt {

std::vector<MemoryTables::Module> use_by_module(std::span<const StackUse> uses,
                                                const StackTable& stacks,
                                                std::span<const Module> modules) {
  std::map<std::string, MemoryTables::Module> by_path;
  for (const StackUse& use : uses) {
    const Module* module = calling_module(modules, stacks.frames(use.stack));
    const std::string path = module != nullptr ? module->path : std::string();
    MemoryTables::Module& row = by_path[path];
    row.path = path;
    row.allocations += use.allocations;
    row.allocated_bytes += use.allocated_bytes;
    row.peak_bytes += use.peak_bytes;
    row.live_bytes += use.live_bytes;
  }
  std::vector<MemoryTables::Module> rows;
  for (auto& [path, row] : by_path) {
    row.owner = owner_of_module(path);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
    return std::tuple(a.peak_bytes, a.allocated_bytes) >
           std::tuple(b.peak_bytes, b.allocated_bytes);
  });
  return rows;
}

} // namespace gmt
