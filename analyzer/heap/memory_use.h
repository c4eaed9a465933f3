// SPDX-License-Identifier: Apache-2.0
// Who uses how much memory: sums by kind and device and by call stack, kept up to date at every
// allocation and death of a block in constant time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/base/prefetch.h"
#include "analyzer/heap/block.h"
#include "analyzer/heap/memory_watch.h"
#include "analyzer/heap/peak_sum.h"
#include "analyzer/heap/tensor_use.h"

namespace gmt {

inline constexpr int kNoDevice = -1;

constexpr bool is_host_kind(trace::MemoryKind memory_kind) {
  return memory_kind == trace::MemoryKind::kPinned || memory_kind == trace::MemoryKind::kRegistered;
}

class MemoryUse {
public:
  struct KindSums {
    std::uint64_t allocations = 0, allocated_bytes = 0, frees = 0;
    std::uint64_t live_blocks = 0, live_bytes = 0, peak_bytes = 0;
  };
  static constexpr std::size_t kMemoryKinds =
    static_cast<std::size_t>(trace::MemoryKind::kTensor) + 1;

  // Or the host, whose number is kNoDevice; so is that of a device that is not known
  struct Device {
    int number = kNoDevice;
    std::uint64_t live_bytes = 0, peak_bytes = 0;    // of device memory
    std::array<KindSums, kMemoryKinds> memory_kinds; // by trace::MemoryKind
  };

  // One cache line, since each allocation and each free uses one of many. It holds device memory.
  struct alignas(64) Stack : Holder {
    std::uint64_t allocations = 0, allocated_bytes = 0; // of any memory
    std::uint16_t api = trace::kNoApi;                  // the last call from here
  };

  // Sees each change of device memory from now on, and must live as long. None by default.
  void watch(MemoryWatch* watch) { watch_ = watch; }
  // What was allocated before it stays without a device
  void describe_context(std::uint16_t id, int device);

  // Fetches what on_allocated() or on_freed() are going to use: it is seldom in the cache.
  void expect(StackId id) const {
    if (id.value < stacks_.size()) prefetch(&stacks_[id.value]);
  }

  void on_allocated(const Block& block) {
    Device& device = device_of(block);
    KindSums& memory_kind = device.memory_kinds[static_cast<std::size_t>(block.memory_kind)];
    ++memory_kind.allocations;
    memory_kind.allocated_bytes += block.bytes;
    ++memory_kind.live_blocks;
    memory_kind.live_bytes += block.bytes;
    if (memory_kind.live_bytes > memory_kind.peak_bytes)
      memory_kind.peak_bytes = memory_kind.live_bytes;
    if (is_tensor(block)) [[unlikely]] {
      tensors_.on_allocated(block);
      return report_tensor(block, device, static_cast<std::int64_t>(block.bytes));
    }
    Stack& stack = stack_of(block.allocated);
    ++stack.allocations;
    stack.allocated_bytes += block.bytes;
    stack.api = block.api;
    if (!is_device_memory(block)) return;
    device.live_bytes += block.bytes;
    if (device.live_bytes > device.peak_bytes) device.peak_bytes = device.live_bytes;
    sum_.add_block(stack, block.bytes, block.allocated_at);
    report(block, device, static_cast<std::int64_t>(block.bytes));
  }

  void on_freed(const Block& block, Block::End how) {
    Device& device = device_of(block);
    KindSums& memory_kind = device.memory_kinds[static_cast<std::size_t>(block.memory_kind)];
    if (how != Block::End::kContextEnded) ++memory_kind.frees;
    --memory_kind.live_blocks;
    memory_kind.live_bytes -= block.bytes;
    if (is_tensor(block)) [[unlikely]] {
      tensors_.on_freed(block);
      return report_tensor(block, device, -static_cast<std::int64_t>(block.bytes));
    }
    if (!is_device_memory(block)) return;
    device.live_bytes -= block.bytes;
    sum_.take_block(stack_of(block.allocated), block.bytes);
    report(block, device, -static_cast<std::int64_t>(block.bytes));
  }

  // Device memory that outlives its block: takes back the end that was just counted. on_freed()
  // comes once more.
  void outlived(const Block& block) {
    Device& device = device_of(block);
    KindSums& memory_kind = device.memory_kinds[static_cast<std::size_t>(block.memory_kind)];
    --memory_kind.frees;
    ++memory_kind.live_blocks;
    memory_kind.live_bytes += block.bytes;
    if (!is_device_memory(block)) return;
    device.live_bytes += block.bytes;
    sum_.add_block(stack_of(block.allocated), block.bytes, block.allocated_at);
    report(block, device, static_cast<std::int64_t>(block.bytes));
  }

  // A live block turns out to be that much larger, at this point of the order.
  void grew(const Block& block, std::uint64_t more, std::uint64_t order);

  // Device memory of all devices.
  std::uint64_t live_bytes() const { return sum_.live_bytes(); }
  std::uint64_t peak_bytes() const { return sum_.peak_bytes(); }
  std::uint64_t peak_order() const { return sum_.peak_order(); } // of the allocation that made it
  // What a stack held at that moment.
  std::uint64_t bytes_at_peak(const Stack& stack) const { return sum_.bytes_at_peak(stack); }
  std::uint64_t blocks_at_peak(const Stack& stack) const { return sum_.blocks_at_peak(stack); }

  const std::vector<Device>& devices() const { return devices_; } // the first one is the host
  const std::vector<Stack>& stacks() const { return stacks_; }    // by StackId
  const TensorUse& tensors() const { return tensors_; }           // in none of the above but rows
  TensorUse& tensors() { return tensors_; }

private:
  Device& device_of(const Block& block) {
    if (is_host_kind(block.memory_kind) || block.device_slot == kHostSlot) return devices_[0];
    if (block.device_slot != 0) return devices_[at_number(static_cast<int>(block.device_slot) - 1)];
    if (block.context >= slots_.size() || slots_[block.context] == kUnset)
      return without_device(block);
    return devices_[slots_[block.context]];
  }
  std::size_t at_number(int number) {
    const auto i = static_cast<std::size_t>(number);
    return i < by_number_.size() && by_number_[i] != kUnset ? by_number_[i] : introduce(number);
  }
  std::size_t introduce(int number); // where it is in devices_ from now on; 0 if there is no room
  Device& without_device(const Block& block);
  Stack& stack_of(StackId id) {
    if (id.value >= stacks_.size()) [[unlikely]]
      make_room(id);
    return stacks_[id.value];
  }
  void make_room(StackId id);
  void report(const Block& block, const Device& device, std::int64_t bytes) {
    if (watch_ != nullptr) watch_->on_change({block, device.number, bytes, live_bytes()});
  }
  void report_tensor(const Block& block, const Device& device, std::int64_t bytes) {
    if (watch_ != nullptr) watch_->on_tensor({block, device.number, bytes, tensors_.live_bytes()});
  }

  std::vector<Device> devices_{1};
  static constexpr std::uint8_t kUnset = 255;
  std::vector<std::uint8_t> slots_; // by context: its device in devices_, fixed by the first block
  std::vector<std::uint8_t> by_number_; // by ordinal: the same
  std::vector<Stack> stacks_{1};
  PeakSum sum_; // of device memory
  TensorUse tensors_;
  MemoryWatch* watch_ = nullptr;
};

} // namespace gmt
