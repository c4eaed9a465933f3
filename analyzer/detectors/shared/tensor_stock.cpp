// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/tensor_stock.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace gmt {
namespace {

constexpr std::size_t kTensorHolders = 5;

class TensorCount {
public:
  TensorCount(const Heap& heap, int device) : heap_(heap), device_(device) {}

  // In the order of addresses.
  void add(const Block& tensor) {
    const int device = heap_.device_of(tensor);
    if (device_ != kAnyDevice && device != kAnyDevice && device != device_) return;
    MemoryHolder& holder = by_stack_[tensor.allocated.value];
    holder.stack = tensor.allocated;
    holder.api = tensor.api;
    holder.bytes += tensor.bytes;
    ++holder.blocks;
    result.bytes += tensor.bytes;
    ++result.tensors;
    const std::uint64_t end = tensor.address + tensor.bytes;
    if (tensor.address >= segment_end_) {
      end_segment();
      const Block* segment = heap_.find_live(tensor.address);
      if (segment == nullptr) return;
      at_ = segment->address;
      segment_end_ = segment->address + segment->bytes;
    }
    if (tensor.address > at_) add_piece(tensor.address - at_);
    at_ = std::max(at_, end);
  }
  void end_segment() {
    if (segment_end_ > at_) add_piece(segment_end_ - at_);
    at_ = segment_end_ = 0;
  }
  std::vector<MemoryHolder> holders() const {
    std::vector<MemoryHolder> all;
    for (const auto& [stack, holder] : by_stack_) all.push_back(holder);
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

  TensorStock result;

private:
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
  const int device_;
  std::map<std::uint32_t, MemoryHolder> by_stack_;
  std::map<std::uint64_t, TensorStock::Pieces> by_size_; // by `least`
  std::uint64_t at_ = 0, segment_end_ = 0;
};

} // namespace

TensorStock tensors_of_device(const Heap& heap, const ProcessFacts& facts, int device) {
  TensorCount count(heap, device);
  heap.for_each_tensor([&](const Block& tensor) { count.add(tensor); });
  count.end_segment();
  TensorStock result = std::move(count.result);
  result.by_size = count.by_size();
  result.stock = stock_of_device(heap, facts, device);
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
