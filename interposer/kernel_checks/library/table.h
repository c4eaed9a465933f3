// SPDX-License-Identifier: Apache-2.0
// The tables of valid bytes in the memory of devices (docs/kernel-checks.md): where they lie, and
// what is written into them. Each context with checked code has a Table; contexts of one device
// share its memory, into which one of them writes, so that all writes have an order.
//
// Invariants: what code has in it of a table is settled before the first module is rewritten and
// never changes; a device's window is chosen when a context gets the table and no other one of the
// device has it; nothing waits for the program's kernels. What is written is there when the
// function returns, if checked code may be running; else when settle() returns. Whatever begins a
// launch calls that behind begin_launch(), and so does what writes into the table in the order of
// another stream.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "rewriter/table.h"

namespace gmt::interposer::kernel_checks {

// Entries that a set writes without being a grid: 4,096 bytes.
inline constexpr std::uint64_t kMostOfSet = 2048;
inline constexpr std::uint64_t kWantedTable = 0x500000000000; // where the table shall lie
inline constexpr unsigned kMostTables = 16;                   // contexts that have one at a time

class Table;

// The memory of a device's table.
struct TableMemory {
  CUdevice device = -1;      // -1: there is none
  rewriter::Options options; // of checked code, with all places
  CUdeviceptr end = 0;       // of what is mapped
  std::atomic<CUdeviceptr> behind{0};
  std::atomic<Table*> writer{nullptr};              // null: no context of the device has a table
  std::atomic<std::uint64_t> issued{0}, settled{0}; // writes, and those that are known to be there
};

class Table {
public:
  Table() noexcept;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // Settles what code has in it, by the current device if there is one. False: there is no table.
  static bool prepare() noexcept;
  // The options of checked code; only behind prepare().
  static const rewriter::Options& options() noexcept;
  static void abandon_preparing() noexcept; // in a forked child
  static void begin_anew() noexcept;        // for tests: nothing is settled
  static bool has_other_devices() noexcept; // the process
  // From now on what is written is no grid of a device's.
  static void avoid_grids() noexcept;

  // The same options, with the places that the code has from the host; only in a context.
  const rewriter::Options& placed() const noexcept { return memory_->options; }
  CUcontext context() const noexcept { return context_.load(std::memory_order_acquire); }
  unsigned index() const noexcept { return index_; }
  CUdevice device() const noexcept { return memory_->device; }
  bool is_primary_of(CUdevice device) const noexcept { return is_primary_ && device == device_; }
  std::uint64_t flag() const noexcept { return flag_; } // for Placed
  CUstream stream() const noexcept { return stream_; }  // of that context, waits for no other
  bool shares_memory_with(const Table& other) const noexcept { return memory_ == other.memory_; }
  // Of all that have the memory, it alone writes: what is to be in each memory is written by these.
  bool is_writer() const noexcept { return memory_->writer.load() == this; }

  // Memory of the device behind the table, at the same address from the first call on; 0: there is
  // none. It begins at a multiple of its size, which is a power of 2.
  CUdeviceptr memory_behind() noexcept;
  static constexpr std::size_t kBytesBehind = std::size_t{2} << 20;

  // Waits until all that was written is there; nothing if it is.
  void settle() noexcept {
    if (memory_->settled.load() < memory_->issued.load()) wait_for_writes();
  }

  // Whether blocks here have entries of their own.
  bool covers(std::uint64_t begin, std::uint64_t end) const noexcept;
  bool write_block(const rewriter::Block& block, std::uint32_t slot) noexcept;  // poison behind it
  bool write_bounds(std::uint32_t slot, const rewriter::Block& block) noexcept; // alone
  bool write_freed(const rewriter::Block& block) noexcept;
  bool write_unknown(const rewriter::Block& block) noexcept; // poison behind it, too
  bool write_unmapped(const rewriter::Block& block) noexcept;
  bool write_mapped(const rewriter::Block& block) noexcept; // unknown, and nothing behind it
  // All of it is right, and nothing is said of what is behind. The bounds of the run are a hint.
  bool write_run(const rewriter::Block& run, const rewriter::Block& part,
                 std::uint32_t slot) noexcept;
  bool write_all_unknown() noexcept;
  // Other memory of the tool's, in the same order and with the same promise.
  bool write_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept;
  // So many bytes of each row; false: it would be a grid, where there shall be none, or failed.
  bool write_rows(std::uint64_t at, std::uint64_t pitch, std::uint8_t value, std::uint64_t bytes,
                  std::uint64_t rows) noexcept;
  bool write_word(std::uint64_t at, std::uint64_t value) noexcept;

  // ---- for tables.cpp
  void number(unsigned index) noexcept { index_ = index; }
  bool enter(CUcontext context) noexcept; // with unknown memory alone, if no other one has it
  void leave() noexcept;                  // the context has ended
  // Its writes have ended with the writer's context.
  void take_over() noexcept {
    memory_->settled.store(memory_->issued.load());
    memory_->writer.store(this);
  }

private:
  template <class Write> bool by_writer(Write write) noexcept;
  bool choose_window() noexcept;
  bool fill(std::uint64_t address, std::int32_t entry, std::uint64_t granules) noexcept;
  bool fill_all() noexcept;
  bool send_block(const rewriter::Block& block, std::uint32_t slot) noexcept;
  bool send_run(const rewriter::Block& run, const rewriter::Block& part,
                std::uint32_t slot) noexcept;
  bool send_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept;
  bool write_alike(std::uint64_t begin, std::int32_t entry, std::uint64_t granules) noexcept;
  bool wait() noexcept;
  void wait_for_writes() noexcept;
  bool is_issued(bool good) noexcept;
  bool is_primary(CUcontext context) const noexcept;

  static inline constinit std::atomic<bool> avoids_grids_{false};
  TableMemory* memory_;
  std::atomic<CUcontext> context_{nullptr};
  CUstream stream_ = nullptr;
  std::uint64_t flag_ = 0;
  unsigned index_ = 0;
  CUdevice device_ = -1;
  bool is_primary_ = false; // the context is its device's primary one
};

} // namespace gmt::interposer::kernel_checks
