// SPDX-License-Identifier: Apache-2.0
// Numbers by hash: which id something with this hash got. The hash is taken for the identity, 64
// bits over at most some million members. Open addressing in memory of its own. It changes with
// signals blocked only, so a handler on the same thread sees it whole.
#pragma once

#include <cstdint>
#include <cstring>
#include <sys/mman.h>

namespace gmt::interposer {

class IdTable {
public:
  // 0 if it is not there.
  std::uint32_t find(std::uint64_t hash) const noexcept {
    if (entries_ == nullptr) return 0;
    std::uint32_t i = static_cast<std::uint32_t>(hash) & mask_;
    for (; entries_[i].id != 0; i = (i + 1) & mask_) {
      if (entries_[i].hash == hash) return entries_[i].id;
    }
    return 0;
  }
  // Before add(): false if there is no memory.
  bool make_room() noexcept { return (entries_ != nullptr && used_ * 2 <= mask_) || grow(); }
  void add(std::uint64_t hash, std::uint32_t id) noexcept {
    entries_[free_entry(entries_, mask_, hash)] = {hash, id};
    ++used_;
  }
  void clear() noexcept {
    if (entries_ != nullptr) std::memset(entries_, 0, (mask_ + 1) * sizeof(Entry));
    used_ = 0;
  }

private:
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id; // 0: free
  };

  static std::uint32_t free_entry(const Entry* entries, std::uint32_t mask,
                                  std::uint64_t hash) noexcept {
    std::uint32_t i = static_cast<std::uint32_t>(hash) & mask;
    while (entries[i].id != 0) i = (i + 1) & mask;
    return i;
  }
  bool grow() noexcept {
    const std::uint32_t size = entries_ == nullptr ? 256 : (mask_ + 1) * 2;
    void* memory = mmap(nullptr, size * sizeof(Entry), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* entries = static_cast<Entry*>(memory);
    for (std::uint32_t old = 0; entries_ != nullptr && old <= mask_; ++old) {
      if (entries_[old].id == 0) continue;
      entries[free_entry(entries, size - 1, entries_[old].hash)] = entries_[old];
    }
    // The old one stays mapped: the code that a signal handler interrupted may still be reading it.
    entries_ = entries;
    mask_ = size - 1;
    return true;
  }

  Entry* entries_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t used_ = 0;
};

} // namespace gmt::interposer
