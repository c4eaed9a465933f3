// SPDX-License-Identifier: Apache-2.0

#include "analyzer/detectors/shared/cache_growth.h"

#include <algorithm>

#include "analyzer/base/path.h"

namespace gmt {

bool CacheGrowth::is_module_of_cache(std::string_view module) {
  return base_name(module).starts_with("libc10_cuda");
}

bool CacheGrowth::is_segment(StackId stack) {
  const auto [known, is_new] = is_of_cache_.try_emplace(stack.value, false);
  if (is_new) known->second = is_module_of_cache(facts_.caller(stack).module);
  return known->second;
}

void CacheGrowth::on_allocated(const Block& block, int device) {
  if (!is_segment(block.allocated)) return;
  device_ = device;
  series_.on_allocated(block.bytes, block.allocated_at);
  Site& site = sites_[block.allocated.value];
  site.stack = block.allocated;
  site.api = block.api;
  site.bytes += block.bytes;
  ++site.segments;
  site.most_bytes = std::max(site.most_bytes, site.bytes);
  site.most_segments = std::max(site.most_segments, site.segments);
}

void CacheGrowth::on_freed(const Block& block) {
  const auto site = sites_.find(block.allocated.value);
  if (site == sites_.end() || site->second.segments == 0) return; // it was made before
  series_.on_freed(block.bytes);
  site->second.bytes -= std::min(block.bytes, site->second.bytes);
  --site->second.segments;
}

std::optional<CacheGrowth::Found> CacheGrowth::find(std::uint64_t last_order,
                                                    std::uint64_t peak_of_tensors) const {
  const std::optional<LiveSeries::Rise> rise = series_.rise();
  if (!rise || series_.last_order() < last_order - last_order / 8 ||
      series_.first_order() > last_order / 2)
    return std::nullopt;
  Found found{.rise = *rise, .device = device_, .sites = {}};
  for (const auto& [stack, site] : sites_) {
    found.segments += site.most_segments;
    found.sites.push_back(site);
  }
  found.bytes = series_.bytes_then();
  if (found.sites.empty() || found.bytes / 2 < peak_of_tensors) return std::nullopt;
  std::ranges::stable_sort(found.sites, std::ranges::greater{}, &Site::most_bytes);
  return found;
}

} // namespace gmt
