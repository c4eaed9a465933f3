// SPDX-License-Identifier: Apache-2.0
// The table of valid bytes in the memory of a device (docs/kernel-checks.md): where it lies, and
// what is written into it. One context at a time has it.
//
// Invariants: its address is settled before the first module is rewritten and never changes, its
// window when a context gets it; nothing waits for the program's kernels. What is written is there
// when the function returns, if checked code may be running; else when settle() returns. Whatever
// begins a launch calls that behind begin_launch(), and so does what writes into the table in the
// order of another stream.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

// Entries that a set writes without being a grid: 4,096 bytes.
inline constexpr std::uint64_t kMostOfSet = 2048;
inline constexpr std::uint64_t kWantedTable = 0x500000000000; // where the table shall lie

class Table {
public:
  // Settles address and size, by the current device if there is one. False: there is no table.
  bool prepare() noexcept;
  // The options of checked code; only behind prepare().
  const rewriter::Options& options() const noexcept { return options_; }
  // The same, with the places that the code has from the host; only behind enter().
  const rewriter::Options& placed() const noexcept { return at_; }

  // Gives the table to this context, with unknown memory alone; false if it cannot have it, or if
  // another thread gave it to some context meanwhile.
  bool enter(CUcontext context) noexcept;
  void leave() noexcept;   // the context has ended
  void abandon() noexcept; // in a forked child
  CUcontext context() const noexcept { return context_.load(std::memory_order_acquire); }
  CUdevice device() const noexcept { return device_; }
  bool has_other_devices() const noexcept { return has_other_devices_; } // the process
  bool is_primary_of(CUdevice device) const noexcept { return is_primary_ && device == device_; }
  std::uint64_t flag() const noexcept { return flag_; } // for Placed
  CUstream stream() const noexcept { return stream_; }  // of that context, waits for no other

  // Memory of the device behind the table, at the same address from the first call on; 0: there is
  // none. It begins at a multiple of its size, which is a power of 2.
  CUdeviceptr memory_behind() noexcept;
  static constexpr std::size_t kBytesBehind = std::size_t{2} << 20;

  // From now on what is written is no grid of the device's.
  void avoid_grids() noexcept { avoids_grids_.store(true); }

  // Waits until all that was written is there; nothing if it is.
  void settle() noexcept {
    if (settled_.load() < issued_.load()) wait_for_writes();
  }

  // Whether blocks here have entries of their own.
  bool covers(std::uint64_t begin, std::uint64_t end) const noexcept;
  bool write_block(const rewriter::Block& block, std::uint32_t slot) noexcept;  // poison behind it
  bool write_bounds(std::uint32_t slot, const rewriter::Block& block) noexcept; // alone
  bool write_freed(const rewriter::Block& block) noexcept;
  bool write_unknown(const rewriter::Block& block) noexcept; // poison behind it, too
  bool write_unmapped(const rewriter::Block& block) noexcept;
  bool write_mapped(const rewriter::Block& block) noexcept; // unknown, and nothing behind it
  // Other memory of the tool's, in the same order and with the same promise.
  bool write_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept;
  // So many bytes of each row; false: it would be a grid, where there shall be none, or failed.
  bool write_rows(std::uint64_t at, std::uint64_t pitch, std::uint8_t value, std::uint64_t bytes,
                  std::uint64_t rows) noexcept;
  bool write_word(std::uint64_t at, std::uint64_t value) noexcept;

private:
  // One thread does it, others wait for it.
  enum class State : std::uint8_t { kNew, kBusy, kThere, kNone };
  State make() noexcept;
  bool enter_now(CUcontext context) noexcept;
  bool reserve_and_map(CUdevice device) noexcept;
  bool map(CUdevice device, CUdeviceptr to, std::uint64_t bytes) noexcept;
  void choose_size(CUdevice device) noexcept;
  bool choose_window() noexcept;
  bool fill(std::uint64_t address, std::int32_t entry, std::uint64_t granules) noexcept;
  bool wait() noexcept;
  void wait_for_writes() noexcept;
  bool is_issued(bool good) noexcept;
  bool is_primary(CUcontext context) const noexcept;

  std::atomic<State> state_{State::kNew};
  std::atomic<bool> is_entered_{false}; // or about to be
  std::atomic<bool> avoids_grids_{false};
  rewriter::Options options_;
  rewriter::Options at_;
  CUdevice device_ = 0;
  CUdeviceptr end_ = 0; // of what is mapped
  std::atomic<CUdeviceptr> behind_{0};
  std::atomic<CUcontext> context_{nullptr};
  CUstream stream_ = nullptr;
  std::uint64_t flag_ = 0;
  std::atomic<std::uint64_t> issued_{0}, settled_{0}; // writes, and those that are known to be
                                                      // there
  bool has_other_devices_ = false;
  bool is_primary_ = false; // the context is its device's primary one
};

} // namespace gmt::interposer::kernel_checks
