// SPDX-License-Identifier: Apache-2.0
// The addresses that --guard has reserved: fenced blocks lie there, and nothing else does.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

namespace gmt::interposer {

class FencedAddresses {
public:
  void begin(CUdeviceptr base, std::uint64_t bytes) noexcept {
    base_ = base;
    bytes_.store(bytes, std::memory_order_release);
  }
  void forget() noexcept { // in a forked child
    bytes_.store(0);
    base_ = 0;
  }
  bool contain(CUdeviceptr address) const noexcept {
    const std::uint64_t bytes = bytes_.load(std::memory_order_acquire);
    return address - base_ < bytes;
  }
  CUdeviceptr base() const noexcept { return base_; }

private:
  CUdeviceptr base_ = 0; // read behind bytes_
  std::atomic<std::uint64_t> bytes_{0};
};

inline constinit FencedAddresses fenced_addresses{};

} // namespace gmt::interposer
