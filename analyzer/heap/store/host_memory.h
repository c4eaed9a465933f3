// SPDX-License-Identifier: Apache-2.0
// Memory of the host's own where blocks of CUDA's were freed. Until a block is allocated there, an
// address in there is the host's, and no use of what was freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace gmt {

class HostMemory {
public:
  void add(std::uint64_t begin, std::uint64_t bytes);
  void on_allocation(std::uint64_t begin, std::uint64_t bytes) {
    if (!ranges_.empty()) remove(begin, bytes);
  }
  bool contains(std::uint64_t address) const { return !ranges_.empty() && covers(address); }

private:
  static constexpr std::size_t kMostRanges = 65'536; // what comes later is not known

  void remove(std::uint64_t begin, std::uint64_t bytes);
  bool covers(std::uint64_t address) const;

  std::map<std::uint64_t, std::uint64_t> ranges_; // end by begin; they do not overlap
};

} // namespace gmt
