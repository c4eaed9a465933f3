// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/descriptions.h"

#include <iterator>
#include <utility>

#include "analyzer/base/signal_name.h"
#include "analyzer/base/text_format.h"

namespace gmt {
namespace {

// What pinned memory was asked to be (cuda.h on cuMemHostAlloc): " (mapped)"; empty if nothing.
std::string pinned_words(const Block& block) {
  if (block.memory_kind != trace::MemoryKind::kPinned) return {};
  // Bits 0 to 2
  static constexpr std::string_view kWords[] = {"portable", "mapped", "write-combined"};
  std::string words;
  for (unsigned bit = 0; bit < std::size(kWords); ++bit) {
    if ((block.shape().flags >> bit & 1) != 0)
      words += cat({words.empty() ? " (" : ", ", kWords[bit]});
  }
  return words.empty() ? words : words + ")";
}

} // namespace

std::string why_uses_are_unseen(const EndOfTrace& end, const ProcessFacts& facts,
                                const Heap& heap) {
  if (end.lost_records != 0)
    return "records were lost, and among them may be the calls that used the memory";
  if (heap.unseen_allocations() != 0 || heap.unseen_frees() != 0)
    return "some calls were not seen, and among them may be those that used the memory";
  if (const std::string_view library = facts.unseen_user(); !library.empty())
    return cat({library, " is loaded, which reaches device memory by ways that are not recorded"});
  return {};
}

std::string describe_bytes(std::uint64_t bytes, trace::MemoryKind memory_kind) {
  if (bytes == 0) return cat({memory_noun(memory_kind), " of unknown size"});
  return cat({format_bytes(bytes), " of ", memory_noun(memory_kind)});
}

std::string describe_blocks(std::uint64_t bytes, std::uint64_t blocks,
                            trace::MemoryKind memory_kind) {
  const std::string all = describe_bytes(bytes, memory_kind);
  return blocks == 1 ? all : cat({all, " in ", format_plural(blocks, "block")});
}

std::string_view allocated_word(const Block& block) {
  if (block.memory_kind == trace::MemoryKind::kRegistered) return "registered";
  return is_static(block.memory_kind) ? "found" : "allocated";
}

Text describe_block(const Block& block, const TraceNames& names) {
  if (is_tensor(block))
    return {"the ", format_bytes(block.bytes), " block of a tensor made ", TensorSite{}};
  return {describe_bytes(block.bytes, block.memory_kind),
          pinned_words(block),
          " ",
          allocated_word(block),
          " by ",
          CallName{names.api_name(block.api)}};
}

FindingStack stack_as(StackRole role, StackId stack, std::string_view api, StackOrder order) {
  FindingStack result;
  result.stack = stack;
  result.api = api;
  result.role = role;
  result.order = order;
  return result;
}

FindingStack allocation_stack(const Block& block, const TraceNames& names) {
  StackRole role = StackRole::kAllocated;
  if (block.memory_kind == trace::MemoryKind::kRegistered) role = StackRole::kRegistered;
  if (is_static(block.memory_kind)) role = StackRole::kLookedUp;
  return stack_as(role, block.allocated,
                  is_tensor(block) ? std::string_view() : names.api_name(block.api));
}

StackRole release_role(trace::FreeFunction function) {
  switch (function) {
  case trace::FreeFunction::kHostUnregister: return StackRole::kUnregistered;
  case trace::FreeFunction::kMemRelease: return StackRole::kReleased;
  case trace::FreeFunction::kMemUnmap:
  case trace::FreeFunction::kUnmapGraphics: return StackRole::kUnmapped;
  case trace::FreeFunction::kIpcClose: return StackRole::kClosed;
  default: return StackRole::kFreed;
  }
}

StackRole release_role(trace::MemoryKind memory_kind) {
  switch (memory_kind) {
  case trace::MemoryKind::kRegistered: return StackRole::kUnregistered;
  case trace::MemoryKind::kVmmHandle:
  case trace::MemoryKind::kMulticast: return StackRole::kReleased;
  case trace::MemoryKind::kVmmMapping: return StackRole::kUnmapped;
  case trace::MemoryKind::kIpc: return StackRole::kClosed;
  default: return StackRole::kFreed;
  }
}

std::string_view released_word(trace::FreeFunction function) {
  return words_of(release_role(function));
}

std::string_view released_word(trace::MemoryKind memory_kind) {
  return words_of(release_role(memory_kind));
}

ApiWord right_release_for(const Block& block, std::string_view api) {
  return {is_runtime_name(api), right_release(block.memory_kind, false),
          right_release(block.memory_kind, true)};
}

std::string out_of_reach(int device, int owner) {
  return cat({" on device ", std::to_string(owner), ", to which device ", std::to_string(device),
              " has no access"});
}

std::string advice_on_reach(int device, int owner) {
  return cat(
    {"If cudaDeviceCanAccessPeer says that it can, call cudaDeviceEnablePeerAccess for device ",
     std::to_string(owner), " with device ", std::to_string(device),
     " current, before the launch; else copy the data."});
}

std::string why_not_a_leak(const Ending& ending) {
  if (ending.at_run_limit) return "the program was ended at the limit of --run-time";
  switch (ending.how) {
  case Ending::How::kExited: return {};
  case Ending::How::kSignalled:
    return cat({"the program was killed by ", signal_name(ending.signal)});
  case Ending::How::kExec: return "the program replaced itself by another one (exec)";
  case Ending::How::kRunning: return "the program is still running";
  case Ending::How::kUnknown: break;
  }
  return "the program's end is not in the trace";
}

} // namespace gmt
