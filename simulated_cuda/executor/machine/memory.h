// SPDX-License-Identifier: Apache-2.0
// Which addresses a kernel may use, where their bytes lie on the host, and the state of each byte.
// Memory consists of regions: a device's whole memory is one, and so is each block of pinned,
// registered, managed or mapped memory. A region has a directly mapped shadow of one byte for each
// word of four bytes: the low nibble says which bytes are allocated, the high nibble which are
// initialised. A byte that is initialised and not allocated was freed.
// Invariants: regions do not overlap; an address in no region or in no allocated byte is never
// turned into a host address. Nothing changes regions while a kernel runs; workers of the kernel
// change the state of bytes as atomics (device_bytes.h), and of one heap under its lock.
#pragma once

#include "simulated_cuda/executor/machine/race_tables.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <mutex>

namespace gmt::executor {

enum class ByteState : std::uint8_t { kNothing, kFreed, kUninitialized, kInitialized };

struct Region {
  std::uint64_t base = 0; // device address, a multiple of 4
  std::uint64_t bytes = 0;
  std::byte* host = nullptr;      // where the byte at `base` lies
  std::uint8_t* shadow = nullptr; // of the word at `base`
  bool is_host = false;           // the host may write it at any time
  // A bit for each device that may use all of it
  std::uint64_t devices = ~std::uint64_t{0};
  // Made when a kernel first looks for races there
  mutable RaceTable races = {};
  mutable bool has_no_races = false; // it cannot be made

  bool holds(std::uint64_t address, std::uint64_t size) const {
    const std::uint64_t offset = address - base;
    return offset < bytes && size <= bytes - offset;
  }
  std::byte* at(std::uint64_t address) const { return host + (address - base); }
};

// Which memory a device may use.
struct Reach {
  unsigned device = 0;
  // Whether it may use this byte of a region that is not open to it as a whole; null: it may not
  std::function<bool(std::uint64_t address)> opens;

  bool all_of(const Region& region) const { return (region.devices >> device & 1) != 0; }
  bool has(const Region& region, std::uint64_t address) const {
    return all_of(region) || (opens != nullptr && opens(address));
  }
};

class Memory {
public:
  // Regions and small shadows come from `nodes`, which only add_region() and remove_region() use.
  explicit Memory(std::pmr::memory_resource* nodes = std::pmr::get_default_resource())
      : regions_(nodes) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A region in which nothing is allocated yet. `base` may be any address; false if the shadow
  // cannot be reserved (it costs nothing until it is used) or another region overlaps it.
  bool add_region(std::uint64_t base, std::uint64_t bytes, std::byte* host);
  void remove_region(std::uint64_t base);
  void set_devices(std::uint64_t base, std::uint64_t devices); // Region::devices
  // Memory that the host writes as well: allocated and initialised as a whole.
  bool add_host_memory(std::uint64_t base, std::uint64_t bytes, std::byte* host);

  // Ranges outside every region are passed over.
  void allocate(std::uint64_t address, std::uint64_t bytes); // uninitialised from here on
  void free(std::uint64_t address, std::uint64_t bytes);     // an access is a use after free now
  void forget(std::uint64_t address, std::uint64_t bytes);   // as if it had never been allocated
  void mark_initialized(std::uint64_t address, std::uint64_t bytes);
  void mark_uninitialized(std::uint64_t address, std::uint64_t bytes);
  // Copies which bytes are initialised; the ranges may overlap.
  void copy_state(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

  ByteState state(std::uint64_t address) const;
  // Of the range: the first byte that is not initialised, or `address + bytes`; and the first that
  // is.
  std::uint64_t first_uninitialized(std::uint64_t address, std::uint64_t bytes) const;
  std::uint64_t first_initialized(std::uint64_t address, std::uint64_t bytes) const;

  // A kernel stored what it had loaded and nothing had written: something was to be there. Known of
  // so many ranges, until the bytes are allocated anew. May be called by several workers.
  void note_moved(std::uint64_t address, std::uint64_t bytes);
  bool has_moved(std::uint64_t address, std::uint64_t bytes) const; // some byte of the range

  const Region* region_of(std::uint64_t address) const;

  // The region gets its table of races, if it can be reserved. May be called by several workers.
  void reserve_races(const Region& region) const;
  void clear_races();
  // Of the tables: a line is used for the first time. Too many take more memory than is right.
  void count_race_line() const { race_lines_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t race_lines() const { return race_lines_.load(std::memory_order_relaxed); }
  RaceRuns& race_runs() { return race_runs_; }

private:
  Region* find(std::uint64_t address);
  void forget_moved(std::uint64_t address, std::uint64_t bytes);
  template <class Visit>
  void for_each_part(std::uint64_t address, std::uint64_t bytes, Visit visit);

  std::uint8_t* make_shadow(std::uint64_t bytes);
  void release_shadow(const Region& region);

  std::pmr::map<std::uint64_t, Region> regions_; // by base
  mutable std::mutex races_mutex_;               // of their tables
  RaceRuns race_runs_;
  mutable std::atomic<std::uint64_t> race_lines_{0};
  mutable std::mutex moved_mutex_;
  std::map<std::uint64_t, std::uint64_t> moved_; // begin and end of ranges, which do not touch
};

} // namespace gmt::executor
