// SPDX-License-Identifier: Apache-2.0
// Blocks and holes of the device heap; the shadow says at each moment what may be used.
#include "simulated_cuda/executor/machine/heap.h"

namespace gmt::executor {
namespace {

constexpr std::uint64_t kAlignment = 16;
constexpr std::uint64_t kGap = 16;

std::uint64_t room_for(std::uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kGap;
}

} // namespace

std::unique_ptr<DeviceHeap> DeviceHeap::create(Memory& memory, std::uint64_t address,
                                               std::uint64_t bytes) {
  return std::make_unique<Heap>(memory, address, bytes);
}

Heap::Heap(Memory& memory, std::uint64_t address, std::uint64_t bytes)
    : memory_(memory), address_(address), bytes_(bytes) {
  holes_[address] = bytes;
  memory_.forget(address, bytes);
}

Heap::~Heap() { memory_.forget(address_, bytes_); }

bool Heap::take_hole(std::uint64_t room, std::uint64_t* address) {
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < room) continue;
    *address = hole->first;
    const std::uint64_t left = hole->second - room;
    holes_.erase(hole);
    if (left != 0) holes_[*address + room] = left;
    return true;
  }
  return false;
}

std::uint64_t Heap::allocate(std::uint64_t bytes) {
  if (bytes == 0 || bytes > bytes_) return 0;
  const std::uint64_t room = room_for(bytes);
  std::uint64_t address = 0;
  while (!take_hole(room, &address)) {
    if (!shrink_quarantine()) return 0;
  }
  blocks_[address] = {bytes, false};
  alive_ += bytes;
  memory_.forget(address, room);
  memory_.allocate(address, bytes);
  return address;
}

Heap::Freed Heap::release(std::uint64_t address, std::uint64_t* bytes) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return Freed::kInvalid;
  *bytes = found->second.bytes;
  if (found->second.is_freed) return Freed::kTwice;
  found->second.is_freed = true;
  alive_ -= found->second.bytes;
  memory_.free(address, found->second.bytes);
  quarantine_.push_back(address);
  resting_ += room_for(found->second.bytes);
  while (resting_ > bytes_ / 4 && shrink_quarantine()) {
  }
  return Freed::kDone;
}

bool Heap::shrink_quarantine() {
  if (quarantine_.empty()) return false;
  const std::uint64_t address = quarantine_.front();
  quarantine_.pop_front();
  const auto found = blocks_.find(address);
  resting_ -= room_for(found->second.bytes);
  give_back(address, found->second);
  blocks_.erase(found);
  return true;
}

void Heap::give_back(std::uint64_t address, const HeapBlock& block) {
  std::uint64_t room = room_for(block.bytes);
  memory_.forget(address, room);
  auto next = holes_.lower_bound(address);
  if (next != holes_.end() && address + room == next->first) {
    room += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == address) {
      before->second += room;
      return;
    }
  }
  holes_[address] = room;
}

bool Heap::block_at(std::uint64_t address, std::uint64_t* begin, std::uint64_t* bytes,
                    bool* is_freed) const {
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const auto& [start, block] = *std::prev(after);
  if (address - start >= room_for(block.bytes)) return false;
  *begin = start;
  *bytes = block.bytes;
  *is_freed = block.is_freed;
  return true;
}

} // namespace gmt::executor
