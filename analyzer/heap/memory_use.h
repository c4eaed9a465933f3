// SPDX-License-Identifier: Apache-2.0
// Who uses how much memory: sums by family and device and by call stack, kept up to date at every birth and
// death of a block in constant time.
//
// What each stack held at the peak of device memory is exact without ever copying the table: each stack
// remembers what it held before its first change since a peak, and the number of that peak. If it is the last
// peak's number, the remembered value is what it held then; if not, it has not changed since.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/heap/block.h"

namespace gmt {

inline constexpr int kNoDevice = -1;

constexpr bool is_host_family(trace::Family family) {
  return family == trace::Family::kPinned || family == trace::Family::kRegistered;
}

class MemoryUse {
public:
  struct Family {
    std::uint64_t allocations = 0, allocated_bytes = 0, frees = 0;
    std::uint64_t live_blocks = 0, live_bytes = 0, peak_bytes = 0;
  };
  static constexpr std::size_t kFamilies = static_cast<std::size_t>(trace::Family::kManagedVariable) + 1;

  struct Device { // or the host, whose number is kNoDevice; so is that of a device that is not known
    int number = kNoDevice;
    std::uint64_t live_bytes = 0, peak_bytes = 0; // of device memory
    std::array<Family, kFamilies> families;       // by trace::Family
  };

  // One cache line, since each allocation and each free touches one of many.
  struct alignas(64) Stack {
    std::uint64_t bytes = 0, bytes_before = 0; // of device memory: now, and before the first change since
    std::uint32_t blocks = 0, blocks_before = 0;
    std::uint64_t peak_number = 0;             // this peak
    std::uint64_t allocations = 0, allocated_bytes = 0; // of any memory
    std::uint16_t api = trace::kNoApi;                  // the last call from here
  };

  void describe_context(std::uint16_t id, int device); // what was born before it stays without a device

  // Fetches what born() or died() are going to touch: it is seldom in the cache.
  void expect(StackId id) const {
    if (id.value < stacks_.size()) prefetch(&stacks_[id.value]);
  }

  void born(const Block& block) {
    Device& device = device_of(block);
    Family& family = device.families[static_cast<std::size_t>(block.family)];
    ++family.allocations;
    family.allocated_bytes += block.bytes;
    ++family.live_blocks;
    family.live_bytes += block.bytes;
    if (family.live_bytes > family.peak_bytes) family.peak_bytes = family.live_bytes;
    Stack& stack = stack_of(block.allocated);
    ++stack.allocations;
    stack.allocated_bytes += block.bytes;
    stack.api = block.api;
    if (!is_device_memory(block)) return;
    remember(stack);
    stack.bytes += block.bytes;
    ++stack.blocks;
    device.live_bytes += block.bytes;
    if (device.live_bytes > device.peak_bytes) device.peak_bytes = device.live_bytes;
    live_bytes_ += block.bytes;
    if (live_bytes_ > peak_bytes_) {
      peak_bytes_ = live_bytes_;
      peak_order_ = block.born;
      ++peak_number_;
    }
  }

  void died(const Block& block, Block::End how) {
    Device& device = device_of(block);
    Family& family = device.families[static_cast<std::size_t>(block.family)];
    if (how != Block::End::kContextEnded) ++family.frees;
    --family.live_blocks;
    family.live_bytes -= block.bytes;
    if (!is_device_memory(block)) return;
    Stack& stack = stack_of(block.allocated);
    remember(stack);
    stack.bytes -= block.bytes;
    --stack.blocks;
    device.live_bytes -= block.bytes;
    live_bytes_ -= block.bytes;
  }

  // Device memory that outlives its block: takes the death back that was just counted. died() comes once more.
  void outlived(const Block& block) {
    Device& device = device_of(block);
    Family& family = device.families[static_cast<std::size_t>(block.family)];
    --family.frees;
    ++family.live_blocks;
    family.live_bytes += block.bytes;
    if (!is_device_memory(block)) return;
    Stack& stack = stack_of(block.allocated);
    remember(stack);
    stack.bytes += block.bytes;
    ++stack.blocks;
    device.live_bytes += block.bytes;
    live_bytes_ += block.bytes;
  }

  // A live block turns out to be that much larger, at this point of the order.
  void grew(const Block& block, std::uint64_t more, std::uint64_t order);

  // Device memory of all devices.
  std::uint64_t live_bytes() const { return live_bytes_; }
  std::uint64_t peak_bytes() const { return peak_bytes_; }
  std::uint64_t peak_order() const { return peak_order_; } // of the allocation that made it
  // What a stack held at that moment.
  std::uint64_t bytes_at_peak(const Stack& s) const {
    return s.peak_number == peak_number_ ? s.bytes_before : s.bytes;
  }
  std::uint64_t blocks_at_peak(const Stack& s) const {
    return s.peak_number == peak_number_ ? s.blocks_before : s.blocks;
  }

  const std::vector<Device>& devices() const { return devices_; } // the first one is the host
  const std::vector<Stack>& stacks() const { return stacks_; }    // by StackId

private:
  Device& device_of(const Block& block) {
    if (is_host_family(block.family) || block.place == kHostPlace) return devices_[0];
    if (block.place != 0) return devices_[at_number(static_cast<int>(block.place) - 1)];
    if (block.context >= places_.size() || places_[block.context] == kUnset) return without_device(block);
    return devices_[places_[block.context]];
  }
  std::size_t at_number(int number) {
    const auto i = static_cast<std::size_t>(number);
    return i < by_number_.size() && by_number_[i] != kUnset ? by_number_[i] : introduce(number);
  }
  std::size_t introduce(int number); // where it is in devices_ from now on; 0 if there is no room
  Device& without_device(const Block& block);
  Stack& stack_of(StackId id) {
    if (id.value >= stacks_.size()) stacks_.resize(id.value + std::size_t{1});
    return stacks_[id.value];
  }
  void remember(Stack& stack) const {
    if (stack.peak_number == peak_number_) return;
    stack.peak_number = peak_number_;
    stack.bytes_before = stack.bytes;
    stack.blocks_before = stack.blocks;
  }

  std::vector<Device> devices_{1};
  static constexpr std::uint8_t kUnset = 255;
  std::vector<std::uint8_t> places_; // by context: its device in devices_, fixed by the first block
  std::vector<std::uint8_t> by_number_; // by ordinal: the same
  std::vector<Stack> stacks_{1};
  std::uint64_t live_bytes_ = 0, peak_bytes_ = 0, peak_order_ = 0;
  std::uint64_t peak_number_ = 0;
};

} // namespace gmt
