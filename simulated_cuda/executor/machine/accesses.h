// SPDX-License-Identifier: Apache-2.0
// Which memory a launch used, read from the tables of races behind it: they say of each word what
// the launch did there. Workers note which parts of the tables they wrote, so that not all of
// them are looked through.
#pragma once

#include "simulated_cuda/executor/machine/memory.h"
#include "simulated_cuda/executor/machine/used_rows.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gmt::executor {

// Parts of the tables' lines, by address, and the regions that the tables are of.
class UsedLines {
public:
  static constexpr unsigned kPartShift = 9; // 256 lines, which are 32 KiB of memory
  static constexpr std::size_t kMostParts = std::size_t{1} << 16;

  void add(const std::uint16_t* line) {
    const auto part = reinterpret_cast<std::uintptr_t>(line) >> kPartShift;
    std::uintptr_t& recent = recent_[part % kRecent];
    if (recent == part) return;
    recent = part;
    put(part);
  }
  void add(const Region& region) {
    if (&region != newest_) put(region);
  }
  void add(const UsedLines& others);
  // Sorted, each once.
  const std::vector<std::uintptr_t>& parts();
  const std::vector<const Region*>& regions() const { return regions_; }
  bool is_full() const { return is_full_; } // there were more

private:
  static constexpr std::size_t kRecent = 64;
  void put(std::uintptr_t part);
  void put(const Region& region);

  std::uintptr_t recent_[kRecent] = {};
  std::vector<std::uintptr_t> parts_;
  const Region* newest_ = nullptr;
  std::vector<const Region*> regions_;
  bool is_full_ = false;
};

// The tables of one launch.
struct LaunchEntries {
  std::int64_t first = 0;  // less than this are entries of earlier launches
  std::uint16_t epoch = 0; // of lines
};

using BlockAt =
  std::function<bool(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes)>;

// Rows never reach over the end of a block. Less than all where there are too many.
Accesses read_accesses(UsedLines& used, const LaunchEntries& launch, const BlockAt& block_at);

} // namespace gmt::executor
