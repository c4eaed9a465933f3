// SPDX-License-Identifier: Apache-2.0
// Where a record of the sums stands, by key: open addressing that doubles, in memory of its own.
// For one thread at a time. Nothing is ever taken out; when there is no memory, find() gives null
// and the figures are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

#include "trace/format.h"

namespace gmt::interposer::collector {

struct SlotEntry {
  std::uint64_t key;
  trace::Slot* slot; // null: free, or its record was lost
  std::uint32_t number;
  bool used;
};

class SlotTable {
public:
  // The entry of this key, fresh (`used` false, to be set) if it is new; null without memory.
  SlotEntry* find(std::uint64_t key) noexcept {
    if ((used_ + 1) * 2 > size_ && !grow()) return nullptr;
    SlotEntry* entry = look(key);
    if (!entry->used) {
      entry->key = key;
      ++used_;
    }
    return entry;
  }
  void release() noexcept {
    if (entries_ != nullptr) munmap(entries_, size_ * sizeof(SlotEntry));
    entries_ = nullptr;
    size_ = used_ = 0;
  }

private:
  static constexpr std::size_t kFirstSize = 1 << 10;

  SlotEntry* look(std::uint64_t key) const noexcept {
    std::size_t at = ((key ^ key >> 32) * 0x9e3779b97f4a7c15u >> 32) & (size_ - 1);
    while (entries_[at].used && entries_[at].key != key) at = (at + 1) & (size_ - 1);
    return entries_ + at;
  }
  bool grow() noexcept {
    const std::size_t size = size_ == 0 ? kFirstSize : size_ * 2;
    void* memory = mmap(nullptr, size * sizeof(SlotEntry), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    SlotEntry* old = entries_;
    const std::size_t old_size = size_;
    entries_ = static_cast<SlotEntry*>(memory);
    size_ = size;
    for (std::size_t i = 0; i < old_size; ++i) {
      if (old[i].used) *look(old[i].key) = old[i];
    }
    if (old != nullptr) munmap(old, old_size * sizeof(SlotEntry));
    return true;
  }

  SlotEntry* entries_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
};

} // namespace gmt::interposer::collector
