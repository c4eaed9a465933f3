// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/gaps/gaps.h"

#include <algorithm>

#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

constexpr std::string_view kAllocator = "libc10_cuda";

bool takes_memory(const ProcessModel& model, const Heap& heap) {
  const std::vector<MemoryUse::Stack>& stacks = heap.use().stacks();
  for (std::uint32_t i = 1; i < stacks.size(); ++i) {
    if (stacks[i].allocations == 0) continue;
    if (model.caller(StackId{i}).module.find(kAllocator) != std::string_view::npos) return true;
  }
  return false;
}

} // namespace

// With the cache turned off, as --guard=tensors does, each tensor is a block of CUDA's.
void report_tensor_gaps(const ProcessModel& model, const Heap& heap, Findings& findings) {
  if (heap.use().tensors().any_captured()) {
    findings.not_checked(
      {"copies to and from tensors",
       "a CUDA graph makes its tensors again without PyTorch's allocator; copies and launches "
       "are compared with the blocks around tensors"});
  }
  if (heap.use().tensors().any() || !model.is_loaded(kAllocator) || model.fences_tensors()) return;
  if (!takes_memory(model, heap)) return;
  findings.not_checked({"tensors of PyTorch",
                        "its allocator did not report what it gives out: its cache is off, or "
                        "this version reports in another way. Blocks are those of CUDA"});
}

} // namespace gmt
