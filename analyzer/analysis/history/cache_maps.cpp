// SPDX-License-Identifier: Apache-2.0

#include "analyzer/analysis/history/cache_maps.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/detectors/shared/memory_stock.h"
#include "analyzer/heap/memory_use.h"

namespace gmt {
namespace {

constexpr std::size_t kMostSegments = 400, kMostOthers = 6;
constexpr std::string_view kCacheLibrary = "libc10_cuda";

using Segments = std::vector<CacheMap::Segment>;

// Mappings side by side are one segment that was expanded.
void join_neighbours(Segments& segments) {
  std::ranges::sort(segments, {}, &CacheMap::Segment::address);
  Segments joined;
  for (CacheMap::Segment& segment : segments) {
    CacheMap::Segment* const last = joined.empty() ? nullptr : &joined.back();
    if (last != nullptr && last->address + last->bytes == segment.address &&
        last->device == segment.device)
      last->bytes += segment.bytes;
    else joined.push_back(std::move(segment));
  }
  segments = std::move(joined);
}

// Both are in the order of addresses.
class Filling {
public:
  explicit Filling(Segments& segments) : segments_(segments) {}

  void add(const Block& tensor) {
    while (at_ < segments_.size() && tensor.address >= end_of(segments_[at_])) ++at_;
    if (at_ == segments_.size() || tensor.address < segments_[at_].address) return;
    CacheMap::Segment& segment = segments_[at_];
    const std::uint64_t offset = tensor.address - segment.address;
    const std::uint64_t bytes = std::min(tensor.bytes, segment.bytes - offset);
    CacheMap::Tensors* const last = segment.tensors.empty() ? nullptr : &segment.tensors.back();
    if (last != nullptr && last->stack.value == tensor.allocated.value &&
        last->offset + last->bytes == offset) {
      last->bytes += bytes;
      ++last->blocks;
    } else {
      segment.tensors.push_back({offset, bytes, 1, tensor.allocated});
    }
  }

private:
  static std::uint64_t end_of(const CacheMap::Segment& s) { return s.address + s.bytes; }

  Segments& segments_;
  std::size_t at_ = 0;
};

void keep_largest(CacheMap& map) {
  Segments& all = map.segments;
  if (all.size() <= kMostSegments) return;
  std::ranges::stable_sort(all, std::ranges::greater{}, &CacheMap::Segment::bytes);
  for (std::size_t i = kMostSegments; i < all.size(); ++i) {
    ++map.other_segments;
    map.other_segment_bytes += all[i].bytes;
  }
  all.resize(kMostSegments);
  std::ranges::sort(all, {}, &CacheMap::Segment::address);
}

} // namespace

void CacheMaps::follow(const Event& e, const Heap& heap, std::uint64_t now) {
  if (e.kind == EventKind::kMemoryInfo) info_ = e.memory_info();
  if (e.kind != EventKind::kTensor) return;
  const event::Tensor& tensor = e.tensor();
  if (tensor.op == trace::TensorOp::kTakenBack) look_at_peak(heap, now);
  if (tensor.op != trace::TensorOp::kRefused || refusal_) return;
  refusal_ = map_of(heap, CacheMap::Moment::kRefusal, now);
  refusal_->asked_bytes = tensor.bytes;
}

void CacheMaps::look_at_peak(const Heap& heap, std::uint64_t now) {
  const std::uint64_t bytes = heap.use().tensors().live_bytes();
  if (bytes <= looked_at_ + looked_at_ / 64) return;
  looked_at_ = bytes;
  peak_ = map_of(heap, CacheMap::Moment::kPeak, now);
}

bool CacheMaps::is_of_cache(StackId stack) {
  if (stack.value >= of_cache_.size()) of_cache_.resize(stack.value + std::size_t{1});
  signed char& known = of_cache_[stack.value];
  if (known == 0)
    known = facts_.caller(stack).module.find(kCacheLibrary) != std::string_view::npos ? 1 : -1;
  return known > 0;
}

std::optional<std::uint64_t> CacheMaps::untraced_bytes(const Heap& heap, int device) const {
  if (!info_) return std::nullopt;
  HeldMemory held = stock_of_device(heap, facts_, device).held;
  held.free_bytes = info_->free_bytes;
  held.total_bytes = info_->total_bytes;
  return held.untraced_bytes();
}

CacheMap CacheMaps::map_of(const Heap& heap, CacheMap::Moment moment, std::uint64_t now) {
  CacheMap map;
  map.moment = moment;
  map.time = now;
  std::map<int, std::map<std::string, std::uint64_t>> others; // by device, by library
  heap.for_each_live([&](const Block& block) {
    const bool is_mapping = block.memory_kind == trace::MemoryKind::kVmmMapping;
    if (!is_device_memory(block) && !is_mapping) return;
    const int device = heap.device_of(block);
    if (!is_of_cache(block.allocated)) {
      const Caller caller = facts_.caller(block.allocated);
      const bool is_named = !caller.owner.empty();
      if (!is_mapping) others[device][is_named ? std::string(caller.owner) : ""] += block.bytes;
    } else if (block.address != 0 && heap.find_live(block.address) == &block) {
      map.segments.push_back({block.address, block.bytes, device, {}});
    }
  });
  join_neighbours(map.segments);
  Filling filling(map.segments);
  heap.for_each_tensor([&filling](const Block& tensor) { filling.add(tensor); });
  std::map<int, CacheMap::Device> devices;
  for (const CacheMap::Segment& segment : map.segments) devices[segment.device];
  for (auto& [number, device] : devices) {
    device.number = number;
    if (const DeviceFacts* facts = facts_.device(std::max(0, number)))
      device.total_bytes = facts->bytes;
    if (moment == CacheMap::Moment::kRefusal) device.untraced_bytes = untraced_bytes(heap, number);
    for (const auto& [library, bytes] : others[number]) device.others.emplace_back(library, bytes);
    std::ranges::stable_sort(device.others, std::ranges::greater{},
                             [](const auto& o) { return o.second; });
    if (device.others.size() > kMostOthers) device.others.resize(kMostOthers);
    map.devices.push_back(std::move(device));
  }
  keep_largest(map);
  return map;
}

std::vector<CacheMap> CacheMaps::take(const Heap& heap, std::uint64_t now) {
  look_at_peak(heap, now);
  std::vector<CacheMap> maps;
  for (std::optional<CacheMap>* map : {&peak_, &refusal_}) {
    if (*map && !(*map)->segments.empty()) maps.push_back(std::move(**map));
  }
  return maps;
}

} // namespace gmt
