// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/executor/machine/accesses.h"

#include <algorithm>

namespace gmt::executor {
namespace {

using namespace global_race;

constexpr std::size_t kMostRows = 16; // of each way to use memory
constexpr std::uint64_t kLineBytes = 1u << kLineShift;

// Bytes of one way to use memory, in the order of their addresses, put together to rows.
class RowsBuilder {
public:
  RowsBuilder(bool is_read, bool is_strong) : is_read_(is_read), is_strong_(is_strong) {}

  // A byte that follows on the last one makes its run longer.
  void add(std::uint64_t address, std::uint64_t bytes) {
    if (address == begin_ + bytes_ && bytes_ != 0) {
      bytes_ += bytes;
      return;
    }
    end_run();
    begin_ = address;
    bytes_ = bytes;
  }
  // What comes is in another block.
  void end_block() {
    end_run();
    is_new_block_ = true;
  }
  // False: there were too many.
  bool finish(std::vector<UsedRows>* all) {
    end_run();
    all->insert(all->end(), rows_.begin(), rows_.end());
    return is_whole_;
  }

private:
  void end_run() {
    const std::uint64_t bytes = bytes_;
    bytes_ = 0;
    if (bytes == 0) return;
    if (!rows_.empty() && !is_new_block_ && rows_.back().width == bytes) {
      UsedRows& last = rows_.back();
      if (last.count == 1) last.pitch = begin_ - last.address;
      if (begin_ == last.address + last.count * last.pitch) {
        ++last.count;
        return;
      }
    }
    is_new_block_ = false;
    if (rows_.size() == kMostRows) {
      is_whole_ = false;
      return;
    }
    rows_.push_back({begin_, bytes, 0, 1, is_read_, !is_read_, is_strong_});
  }

  const bool is_read_, is_strong_;
  std::uint64_t begin_ = 0, bytes_ = 0;
  bool is_new_block_ = false, is_whole_ = true;
  std::vector<UsedRows> rows_;
};

// All ways to use memory.
class Builders {
public:
  void add(std::uint64_t word, std::uint64_t entry, bool is_read) {
    RowsBuilder& builder = builders_[(is_read ? 0 : 2) + ((entry & kStrong) != 0 ? 1 : 0)];
    for (std::uint64_t mask = entry & kMask, at = 0; mask != 0; mask >>= 1, ++at) {
      if ((mask & 1) != 0) builder.add(word + at, 1);
    }
  }
  void end_block() {
    for (RowsBuilder& builder : builders_) builder.end_block();
  }
  Accesses finish() {
    Accesses all;
    all.is_known = all.is_whole = true;
    for (RowsBuilder& builder : builders_) all.is_whole &= builder.finish(&all.rows);
    return all;
  }

private:
  RowsBuilder builders_[4] = {{true, false}, {true, true}, {false, false}, {false, true}};
};

// Where the block of memory ends that an address lies in. Where none is known, at the next step.
std::uint64_t end_of_block(std::uint64_t address, const BlockAt& block_at) {
  constexpr std::uint64_t kStep = std::uint64_t{2} << 20;
  std::uint64_t begin = 0, bytes = 0;
  if (block_at != nullptr && block_at(address, &begin, &bytes)) return begin + bytes;
  return (address / kStep + 1) * kStep;
}

void read_line(const Region& region, std::uint64_t line, const LaunchEntries& launch,
               Builders& builders) {
  const std::uint64_t first = line * (kLineBytes / 4);
  const std::uint64_t behind = std::min(first + kLineBytes / 4, (region.bytes + 3) / 4);
  const std::uint16_t done = region.races.lines[line];
  for (std::uint64_t i = first; i < behind; ++i) {
    const std::uint64_t word = region.base + i * 4;
    const std::uint64_t load = region.races.loads[i], store = region.races.stores[i];
    if ((done & kLineLoaded) != 0 && static_cast<std::int64_t>(load) >= launch.first)
      builders.add(word, load, true);
    if ((done & kLineStored) != 0 && static_cast<std::int64_t>(store) >= launch.first)
      builders.add(word, store, false);
  }
}

} // namespace

void UsedLines::put(std::uintptr_t part) {
  if (is_full_) return;
  parts_.push_back(part);
  if (parts_.size() < kMostParts) return;
  is_full_ = parts().size() > kMostParts / 2;
}

void UsedLines::put(const Region& region) {
  newest_ = &region;
  if (std::ranges::find(regions_, &region) == regions_.end()) regions_.push_back(&region);
}

void UsedLines::add(const UsedLines& others) {
  is_full_ |= others.is_full_;
  parts_.insert(parts_.end(), others.parts_.begin(), others.parts_.end());
  for (const Region* region : others.regions_) put(*region);
}

const std::vector<std::uintptr_t>& UsedLines::parts() {
  std::ranges::sort(parts_);
  parts_.erase(std::unique(parts_.begin(), parts_.end()), parts_.end());
  return parts_;
}

Accesses read_accesses(UsedLines& used, const LaunchEntries& launch, const BlockAt& block_at) {
  Accesses unknown;
  if (used.is_full()) return unknown;
  const std::vector<std::uintptr_t>& parts = used.parts();
  Builders builders;
  bool uses_host_memory = false;
  std::vector<const Region*> regions = used.regions();
  std::ranges::sort(regions, {}, [](const Region* region) { return region->base; });
  for (const Region* region : regions) {
    if (region->races.stores == nullptr) return unknown;
    const auto begin = reinterpret_cast<std::uintptr_t>(region->races.lines);
    const std::uint64_t count = (region->bytes + kLineBytes - 1) / kLineBytes;
    std::uint64_t end = 0; // of the block in which the last line lay
    auto part = std::ranges::lower_bound(parts, begin >> UsedLines::kPartShift);
    for (; part != parts.end(); ++part) {
      const std::uintptr_t from = std::max(begin, *part << UsedLines::kPartShift);
      const std::uint64_t first = (from - begin) / sizeof(std::uint16_t);
      if (first >= count) break;
      const std::uintptr_t behind = (*part + 1) << UsedLines::kPartShift;
      const std::uint64_t last = std::min(count, (behind - begin) / sizeof(std::uint16_t));
      for (std::uint64_t line = first; line < last; ++line) {
        if (region->races.lines[line] >> kLineFlags != launch.epoch >> kLineFlags) continue;
        uses_host_memory |= region->is_host;
        const std::uint64_t address = region->base + line * kLineBytes;
        if (address >= end) {
          builders.end_block();
          end = end_of_block(address, block_at);
        }
        read_line(*region, line, launch, builders);
      }
    }
  }
  Accesses all = builders.finish();
  all.uses_host_memory = uses_host_memory;
  return all;
}

} // namespace gmt::executor
