// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/heap_blocks.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/memory.h"
#include "rewriter/heap_table.h"

namespace gmt::interposer::kernel_checks {

namespace {

using rewriter::HeapTable;

constexpr std::uint64_t kMostHeap = std::uint64_t{1} << 30; // an eighth of it is the units
constexpr std::uint64_t kHeadBytes = 512;                   // of the HeapTable; the units follow
constexpr std::uint64_t kZeros = 65536;                     // bytes that one copy sets to zero
constexpr char kDistrusted[] =
  "blocks of malloc in kernels: code that is not checked may use the heap, too";

constinit std::atomic<std::uint64_t> the_table{0};
constinit std::atomic<bool> is_distrusted{false};

std::uint64_t units_for(std::uint64_t heap_bytes) noexcept {
  const std::uint64_t covered = 2 * heap_bytes + 2 * rewriter::kHeapAlignment;
  const std::uint64_t regions = covered / rewriter::kRegionBytes + 1;
  return regions * rewriter::kUnitsOfRegion;
}

// By copies: a set of so much is a grid, by whose count records of malloc find their launch.
bool clear(CUdeviceptr at, std::uint64_t bytes) noexcept {
  const std::unique_ptr<std::byte[]> zeros(new (std::nothrow) std::byte[kZeros]()); // NOLINT
  bool good = zeros != nullptr;
  for (std::uint64_t i = 0; good && i < bytes; i += kZeros)
    good =
      driver.send(at + i, zeros.get(), std::min(kZeros, bytes - i), first_table().stream()) == 0;
  return driver.wait_for_stream(first_table().stream()) == 0 && good;
}

bool write_head(CUdeviceptr at, std::uint64_t units) noexcept {
  const rewriter::Options& options = first_table().placed();
  HeapTable head;
  head.units = at + kHeadBytes;
  head.unit_count = units;
  head.table = options.table;
  head.shift = rewriter::placed_of(options).shift;
  head.window_bytes = rewriter::window_bytes(options);
  return driver.send(at, &head, sizeof head, first_table().stream()) == 0 &&
         driver.wait_for_stream(first_table().stream()) == 0;
}

CUdeviceptr make() noexcept {
  std::size_t heap_bytes = 0;
  if (driver.limit(&heap_bytes, CU_LIMIT_MALLOC_HEAP_SIZE) != 0 || heap_bytes == 0 ||
      heap_bytes > kMostHeap)
    return 0;
  const std::uint64_t units = units_for(heap_bytes);
  const std::uint64_t bytes = kHeadBytes + units + units / rewriter::kUnitsOfRegion;
  CUdeviceptr at = 0;
  if (driver.allocate(&at, bytes) != 0) return 0;
  if (clear(at, bytes) && write_head(at, units)) return at;
  driver.free(at);
  return 0;
}

void turn_off(CUdeviceptr at) noexcept {
  const Work work(first_table().context());
  if (!work.ready()) return;
  driver.set_16(at + offsetof(HeapTable, is_off), 1, 1, first_table().stream());
  driver.wait_for_stream(first_table().stream());
  note_unchecked("", kDistrusted, 0);
}

// Units around one of interest, as they are now.
struct Units {
  static constexpr std::uint64_t kEachWay = 65536; // 1 MiB of addresses
  std::unique_ptr<std::uint8_t[]> states;          // NOLINT
  std::uint64_t count = 0, first = 0;              // the address of the first one

  std::uint8_t at(std::uint64_t index) const noexcept { return index < count ? states[index] : 0; }
};

Units fetch_units(const HeapTable& head, std::uint64_t unit) noexcept {
  Units units;
  const std::uint64_t from = unit - std::min(unit, Units::kEachWay);
  units.count = std::min(head.unit_count, unit + Units::kEachWay) - from;
  units.first = head.first + from * rewriter::kUnitBytes;
  units.states.reset(new (std::nothrow) std::uint8_t[units.count]);
  const bool good =
    units.states != nullptr &&
    driver.fetch(units.states.get(), head.units + from, units.count, first_table().stream()) == 0 &&
    driver.wait_for_stream(first_table().stream()) == 0;
  if (!good) units.count = 0;
  return units;
}

bool is_of_block(std::uint8_t state) noexcept {
  return state != 0 && (state & rewriter::kPoisonUnit) == 0;
}
bool is_begin(std::uint8_t state) noexcept {
  return is_of_block(state) && (state & rewriter::kBeginUnit) != 0;
}

// The begin of the block that the unit is of; that unit's own number if it is none's.
std::uint64_t begin_of(const Units& units, std::uint64_t unit) noexcept {
  std::uint64_t at = unit;
  while (at > 0 && is_of_block(units.at(at)) && !is_begin(units.at(at))) --at;
  return is_begin(units.at(at)) ? at : unit;
}

std::uint64_t bytes_of(const Units& units, std::uint64_t begin) noexcept {
  std::uint64_t bytes = units.at(begin) & rewriter::kUnitCount;
  for (std::uint64_t at = begin + 1; is_of_block(units.at(at)) && !is_begin(units.at(at)); ++at)
    bytes += units.at(at) & rewriter::kUnitCount;
  return bytes;
}

} // namespace

std::uint64_t heap_table() noexcept { return the_table.load(std::memory_order_acquire); }

std::uint64_t make_heap_table(bool* is_new) noexcept {
  *is_new = false;
  const std::uint64_t known = heap_table();
  // Patched machine code asks the table alone, for which a kHeapEntry is no memory at all.
  if (core->settings.patches_code) distrust_heap();
  if (is_distrusted.load()) note_unchecked("", kDistrusted, 0);
  if (known != 0 || is_distrusted.load() || core->settings.samples) return known;
  const CUdeviceptr made = make();
  std::uint64_t other = 0;
  if (made == 0) return 0;
  if (!the_table.compare_exchange_strong(other, made)) {
    driver.free(made);
    return other;
  }
  if (is_distrusted.load()) turn_off(made);
  *is_new = true;
  return made;
}

void distrust_heap() noexcept {
  if (is_distrusted.exchange(true)) return;
  if (const std::uint64_t known = heap_table(); known != 0) turn_off(known);
}

void forget_heap() noexcept { the_table.store(0); }

void abandon_heap() noexcept {
  forget_heap();
  is_distrusted.store(false);
}

trace::ExecutionNeighbour heap_block_at(std::uint64_t address, bool is_freed) noexcept {
  HeapTable head;
  const CUdeviceptr at = heap_table();
  if (at == 0 || driver.fetch(&head, at, sizeof head, first_table().stream()) != 0 ||
      driver.wait_for_stream(first_table().stream()) != 0)
    return {};
  const std::uint64_t unit = (address - head.first) / rewriter::kUnitBytes;
  if (head.first == 0 || address < head.first || unit >= head.unit_count) return {};
  const Units units = fetch_units(head, unit);
  const std::uint64_t here = (address - units.first) / rewriter::kUnitBytes;
  // In it, right behind it, or right in front of it: the nearest.
  trace::ExecutionNeighbour nearest{};
  std::uint64_t least = ~std::uint64_t{0};
  for (const std::uint64_t one : {here, here - std::min<std::uint64_t>(here, 1), here + 1}) {
    const std::uint64_t unit_of_begin = begin_of(units, one);
    if (!is_begin(units.at(unit_of_begin))) continue;
    const std::uint64_t begin = units.first + unit_of_begin * rewriter::kUnitBytes;
    const std::uint64_t bytes = bytes_of(units, unit_of_begin);
    const std::uint64_t behind = address - std::min(address, begin + bytes);
    const std::uint64_t distance = address < begin ? begin - address : behind;
    if (distance >= least) continue;
    least = distance;
    nearest = {begin, bytes, is_freed ? 1u : 0u, trace::ExecutionSpace::kUnknown, nullptr};
  }
  return nearest;
}

} // namespace gmt::interposer::kernel_checks
