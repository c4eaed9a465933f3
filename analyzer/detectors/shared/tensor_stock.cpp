// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/tensor_stock.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

constexpr std::size_t kTensorHolders = 5;

class TensorCount {
public:
  TensorCount(const Heap& heap, const TensorRequest& asked) : heap_(heap), asked_(asked) {}

  // In the order of addresses.
  void add(const Block& tensor) {
    const int device = heap_.device_of(tensor);
    if (asked_.device != kAnyDevice && device != kAnyDevice && device != asked_.device) return;
    Line& line = by_stack_[tensor.allocated.value];
    line.holder.stack = tensor.allocated;
    line.holder.api = tensor.api;
    line.holder.bytes += tensor.bytes;
    ++line.holder.blocks;
    line.tensors.push_back({(asked_.time - tensor.freed_at) & kOrderMask, tensor.bytes});
    result.bytes += tensor.bytes;
    ++result.tensors;
    if (tensor.address >= segment_.end) begin_segment(tensor.address);
    if (segment_.end == 0) return;
    if (tensor.address > at_) add_piece(tensor.address - at_);
    at_ = std::max(at_, tensor.address + tensor.bytes);
    segment_.held += tensor.bytes;
    segment_.largest_tensor = std::max(segment_.largest_tensor, tensor.bytes);
  }

  void end_segment() {
    if (segment_.end > at_) add_piece(segment_.end - at_);
    const std::uint64_t bytes = segment_.end - segment_.begin;
    if (asked_.bytes != 0 && bytes >= asked_.bytes && segment_.held < bytes / kFew) {
      ++result.broken.segments;
      result.broken.bytes += bytes;
      result.broken.held_bytes += segment_.held;
      result.broken.largest_tensor =
        std::max(result.broken.largest_tensor, segment_.largest_tensor);
    }
    segment_ = {};
    at_ = 0;
  }

  std::vector<MemoryHolder> holders() const {
    std::vector<MemoryHolder> all;
    for (const auto& [stack, line] : by_stack_) all.push_back(line.holder);
    std::ranges::sort(all, [](const MemoryHolder& a, const MemoryHolder& b) {
      return std::tuple(b.bytes, a.stack.value) < std::tuple(a.bytes, b.stack.value);
    });
    return all;
  }

  std::vector<TensorStock::Pieces> by_size() const {
    std::vector<TensorStock::Pieces> all;
    for (const auto& [least, pieces] : by_size_) all.push_back(pieces);
    std::ranges::stable_sort(all, std::ranges::greater{}, &TensorStock::Pieces::bytes);
    return all;
  }

  TensorStock::Idle idle_longest() {
    TensorStock::Idle longest;
    for (auto& [stack, line] : by_stack_) {
      if (line.holder.bytes < result.bytes / kLittle) continue;
      const TensorStock::Idle idle = idle_half(line);
      if (idle.ticks > longest.ticks) longest = idle;
    }
    return longest;
  }

  TensorStock result;

private:
  static constexpr std::uint64_t kFew = 8;     // of a segment: less is in its small tensors
  static constexpr std::uint64_t kLittle = 50; // of all tensors: what a line has at least

  struct Use {
    std::uint64_t idle, bytes;
  };
  struct Line {
    MemoryHolder holder;
    std::vector<Use> tensors;
  };
  struct Segment {
    std::uint64_t begin = 0, end = 0, held = 0, largest_tensor = 0;
  };

  // With those that have been idle nearly as long.
  static TensorStock::Idle idle_half(Line& line) {
    std::ranges::sort(line.tensors, std::ranges::greater{}, &Use::idle);
    TensorStock::Idle idle{.stack = line.holder.stack};
    std::uint64_t least = 0;
    for (const Use& use : line.tensors) {
      if (use.idle < least) break;
      idle.bytes += use.bytes;
      ++idle.tensors;
      idle.ticks = use.idle;
      if (least == 0 && idle.bytes >= line.holder.bytes / 2) least = use.idle / 4 * 3;
    }
    return idle;
  }

  // Pieces that are mapped side by side are one segment.
  void begin_segment(std::uint64_t address) {
    const auto is_mapped = [](const Block* block) {
      return block != nullptr && block->memory_kind == trace::MemoryKind::kVmmMapping;
    };
    const Block* block = heap_.find_live(segment_.end);
    while (segment_.end != 0 && segment_.end <= address && is_mapped(block) &&
           block->address == segment_.end && block->bytes != 0) {
      segment_.end += block->bytes;
      block = heap_.find_live(segment_.end);
    }
    if (address < segment_.end) return;
    end_segment();
    block = heap_.find_live(address);
    if (block == nullptr) return;
    result.are_expandable |= is_mapped(block);
    segment_.begin = at_ = block->address;
    segment_.end = block->address + block->bytes;
  }

  void add_piece(std::uint64_t bytes) {
    TensorStock::Pieces& pieces = by_size_[std::bit_floor(bytes)];
    pieces.least = std::bit_floor(bytes);
    ++pieces.pieces;
    pieces.bytes += bytes;
    result.free_bytes += bytes;
    ++result.free_pieces;
    result.largest_piece = std::max(result.largest_piece, bytes);
  }

  const Heap& heap_;
  const TensorRequest asked_;
  std::map<std::uint32_t, Line> by_stack_;
  std::map<std::uint64_t, TensorStock::Pieces> by_size_; // by `least`
  Segment segment_;
  std::uint64_t at_ = 0; // the end of what has been counted of it
};

} // namespace

TensorStock tensors_of_device(const Heap& heap, const ProcessFacts& facts,
                              const TensorRequest& asked) {
  TensorCount count(heap, asked);
  heap.for_each_tensor([&](const Block& tensor) { count.add(tensor); });
  count.end_segment();
  TensorStock::Idle idle;
  if (!heap.use().tensors().any_captured()) idle = count.idle_longest();
  TensorStock result = std::move(count.result);
  result.by_size = count.by_size();
  result.idle = idle;
  result.stock = stock_of_device(heap, facts, asked.device);
  HeldMemory& held = result.stock.held;
  held.other_holders = held.other_bytes = 0;
  result.stock.holders = count.holders();
  while (result.stock.holders.size() > kTensorHolders) {
    ++held.other_holders;
    held.other_bytes += result.stock.holders.back().bytes;
    result.stock.holders.pop_back();
  }
  held.pools.insert(held.pools.begin(), HeldMemory::Pool{.name = "PyTorch's cache",
                                                         .bytes = result.bytes,
                                                         .blocks = result.tensors,
                                                         .freed_bytes = result.free_bytes,
                                                         .largest_freed = result.largest_piece,
                                                         .release_threshold = {}});
  return result;
}

} // namespace gmt
