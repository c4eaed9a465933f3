// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/memory.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/patches/patches.h"
#include "interposer/kernel_checks/library/peers.h"
#include "interposer/kernel_checks/library/regions.h"
#include "interposer/kernel_checks/library/reports.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::size_t kMostResting = std::size_t{64} << 20; // bytes

CUcontext context_of(const Kept& kept) noexcept { return table_at(kept.table).context(); }

// In the table of the context that it was allocated in.
void write(Kept& kept) noexcept {
  addresses_given_out(kept.block.begin, room_of(kept));
  Table& own = table_at(kept.table);
  const rewriter::Block& block = kept.block;
  const bool is_aligned = block.begin % kGranule == 0;
  if (!is_aligned || !own.covers(block.begin, block.end)) {
    note_unchecked("",
                   is_aligned ? "memory outside of the table's windows counts as right"
                              : "memory that begins between multiples of 512 counts as right",
                   0);
    return;
  }
  const Work work(own.context());
  if (!work.ready()) return;
  kept.slot = take_slot();
  kept.is_in_table = own.write_block(block, kept.slot);
  if (!kept.is_in_table && own.write_unknown(block)) give_slot(kept.slot);
  if (kept.is_in_table) write_elsewhere(kept, Entries::kLive);
}

// What the driver gave out, with more behind it than was asked for, becomes a block.
void add_block(CUdeviceptr address, std::size_t bytes, bool may_be_in_table,
               std::size_t room = 0) noexcept {
  Kept kept{{address, address + bytes}};
  kept.room = room;
  kept.table = table().index();
  if (may_be_in_table) write(kept);
  if (!kept.is_in_table) forget_range(address, std::max(bytes, room));
  keep_live(kept);
  if (kept.is_in_table) follow_unwritten(kept.block);
}

// All that the driver gave: a larger block may have been there before, and its entries still are.
bool write_unknown(const Kept& kept) noexcept {
  write_elsewhere(kept, Entries::kUnknown);
  return table_at(kept.table)
    .write_unknown({kept.block.begin, kept.block.begin + room_of(kept) - kGranule});
}

// The driver gets its memory back. The block's context is current.
CUresult end_block(const Kept& kept) noexcept {
  write_unknown(kept);
  give_slot(kept.slot);
  return static_cast<CUresult>(driver.free(kept.block.begin));
}

// Memory that the host may use, too: it never rests. cuMemFree frees such as is managed.
CUresult end_host_block(const Kept& kept) noexcept {
  write_unknown(kept);
  give_slot(kept.slot);
  const std::uint64_t begin = kept.block.begin;
  const bool is_away = take_away_freed(begin, room_of(kept));
  const auto result = static_cast<CUresult>(driver.free(begin));
  if (is_away && result != CUDA_SUCCESS) give_freed(begin, room_of(kept));
  return result;
}

// Frees the oldest of what rests until no more than so many bytes do; whether there was any.
bool release_resting(std::size_t most_bytes) noexcept {
  bool was_any = false;
  while (const std::optional<Kept> oldest = take_resting(most_bytes)) {
    const Work work(context_of(*oldest));
    if (work.ready()) end_block(*oldest);
    was_any = true;
  }
  return was_any;
}

bool is_checked_block(CUdeviceptr address) noexcept {
  const std::optional<Kept> kept = find_live(address);
  return kept && kept->is_in_table && !kept->is_foreign;
}

} // namespace

bool release_all_resting() noexcept {
  return is_any_table() && !any_capture() && release_resting(0);
}

bool is_checked_context() noexcept {
  CUcontext context = nullptr;
  return is_any_table() && driver.current(&context) == 0 && table_of(context) != nullptr;
}

bool has_table() noexcept {
  CUcontext context = nullptr;
  if (driver.current(&context) != 0 || context == nullptr || !Table::prepare()) return false;
  if (table_of(context) != nullptr) return true;
  if (!enter_table(context)) return false;
  Table* const entered = table_of(context);
  if (entered == nullptr) return false;
  if (entered->is_writer()) {
    share_blocks_with(*entered);
    write_reserved(*entered);
  }
  enter_patches();
  core->notify_at_exit();
  return true;
}

namespace {

// What the driver is asked for: of larger blocks up to an eighth more, so that one of another size
// can be there later. It maps pages of 2 MiB itself.
std::size_t room_for(std::size_t bytes) noexcept {
  constexpr std::size_t kRounded = std::size_t{1} << 20, kPage = std::size_t{2} << 20;
  const std::size_t needed = with_poison(bytes);
  if (needed < kRounded || needed > kMostResting) return needed;
  const std::size_t step = std::min(std::bit_floor(needed) / 8, kPage);
  return (needed + step - 1) / step * step;
}

// Where as much rests as may, an old block with this room becomes the new one: the driver would
// give its pages back and map others, which takes it some 100 us from 1 MB on.
bool take_rested(CUdeviceptr* address, std::size_t bytes) noexcept {
  const std::optional<Kept> kept =
    take_resting_of(table().index(), room_for(bytes), with_poison(bytes), kMostResting);
  if (!kept) return false;
  give_slot(kept->slot);
  *address = kept->block.begin;
  add_block(*address, bytes, true, room_of(*kept));
  return true;
}

} // namespace

CUresult allocate(CUdeviceptr* address, std::size_t bytes) noexcept {
  if (!is_ordinary(address, bytes) || any_capture() || !has_table()) {
    const auto result = static_cast<CUresult>(driver.allocate(address, bytes));
    if (result == CUDA_SUCCESS && is_ordinary(address, bytes)) forget_range(*address, bytes);
    return result;
  }
  if (take_rested(address, bytes)) return CUDA_SUCCESS;
  std::size_t room = room_for(bytes);
  auto result =
    static_cast<CUresult>(with_resting_released([=] { return driver.allocate(address, room); }));
  if (result == CUDA_ERROR_OUT_OF_MEMORY && room != with_poison(bytes)) {
    room = with_poison(bytes);
    result = static_cast<CUresult>(driver.allocate(address, room));
  }
  const bool is_short = result == CUDA_ERROR_OUT_OF_MEMORY; // without poison it may fit
  if (is_short) result = static_cast<CUresult>(driver.allocate(address, bytes));
  if (result != CUDA_SUCCESS) return result;
  if (is_short) forget_range(*address, bytes);
  else add_block(*address, bytes, true, room);
  return CUDA_SUCCESS;
}

CUresult allocate_pitched(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                          std::size_t height, unsigned element) noexcept {
  const bool has_rows = address != nullptr && pitch != nullptr && width != 0 && height != 0;
  if (has_rows && !any_capture() && has_table()) { // one more row is the poison
    const auto result = static_cast<CUresult>(with_resting_released(
      [=] { return driver.allocate_pitched(address, pitch, width, height + 1, element); }));
    if (result == CUDA_SUCCESS)
      add_block(*address, *pitch * height, *pitch >= kGranule && *pitch % kGranule == 0);
    if (result == CUDA_SUCCESS) return result;
  }
  const int result = driver.allocate_pitched(address, pitch, width, height, element);
  if (result == CUDA_SUCCESS && has_rows) forget_range(*address, *pitch * height);
  return static_cast<CUresult>(result);
}

void add_host_block(CUdeviceptr address, std::size_t bytes) noexcept {
  Kept kept{{address, address + bytes}};
  kept.is_hosts = true;
  kept.table = table().index();
  write(kept);
  if (!kept.is_in_table) forget_range(address, bytes);
  keep_live(kept);
}

void add_foreign_block(CUdeviceptr address, std::size_t bytes, std::size_t room) noexcept {
  Kept kept{{address, address + bytes}};
  kept.is_foreign = true;
  kept.room = room;
  kept.table = table().index();
  write(kept);
  if (!kept.is_in_table) forget_range(address, std::max(bytes, room));
  keep_live(kept);
}

bool free_block(CUdeviceptr address, CUresult* result) noexcept {
  if (any_capture()) {
    forget_block(address);
    return false;
  }
  if (rests(address)) {
    *result = CUDA_ERROR_INVALID_VALUE; // as the driver answers when an address is freed again
    return true;
  }
  if (!is_checked_block(address)) {
    forget_block(address);
    return false;
  }
  const std::optional<Kept> freed = find_live(address);
  if (!freed) return false; // another thread freed it
  end_regions(address);
  const unsigned of = freed->table;
  const Work work(table_at(of).context());
  const std::uint64_t given = given_launches(of), ended = launch_count();
  // The driver waits for kernels, too, before it frees.
  if (!work.ready() || driver.synchronize() != 0) {
    take_live(address);
    end_unwritten(address);
    return false;
  }
  end_launches(given, of);
  fetch_reports(ended, of);
  const std::optional<Kept> kept = take_live(address);
  if (!kept) return false; // an address inside a block, or another thread freed it
  end_unwritten(address);
  *result = CUDA_SUCCESS;
  if (kept->is_ordered) { // its pool gives it out again, and writes new entries then
    table_at(of).write_freed(kept->block);
    give_slot(kept->slot);
    *result = static_cast<CUresult>(driver.free(address));
    return true;
  }
  if (kept->is_hosts) {
    *result = end_host_block(*kept);
    return true;
  }
  if (size_of(*kept) > kMostResting || !table_at(of).write_freed(kept->block)) {
    *result = end_block(*kept);
    return true;
  }
  write_elsewhere(*kept, Entries::kFreed);
  let_rest(*kept);
  release_resting(kMostResting);
  return true;
}

void forget_block(CUdeviceptr address) noexcept {
  const std::optional<Kept> kept = take_live(address);
  if (kept && kept->is_foreign) forget_opened(address);
  if (!kept || !kept->is_in_table) return;
  end_regions(address);
  end_unwritten(address);
  const Work work(context_of(*kept));
  if (work.ready() && write_unknown(*kept)) give_slot(kept->slot);
}

// What shares its table's memory with other contexts has to be said again of theirs: where the
// ended one had its heap is not known.
void forget_blocks_of(const Table& ended) noexcept {
  const std::vector<Kept> gone = take_blocks_of(ended.index());
  for (const Kept& kept : gone) write_elsewhere(kept, Entries::kUnknown);
  Table* other = nullptr;
  for_each_table([&](Table& one) {
    if (&one != &ended && one.shares_memory_with(ended)) other = &one;
  });
  if (other == nullptr) return;
  const Work work(other->context());
  if (!work.ready() || !other->write_all_unknown()) return;
  for (const Kept& kept : live_blocks()) {
    const bool is_here = kept.is_in_table && !kept.is_ordered && kept.table != ended.index() &&
                         table_at(kept.table).shares_memory_with(*other);
    if (is_here) other->write_block(kept.block, kept.slot);
  }
  share_blocks_with(*other);
  write_reserved(*other);
}

bool find_block(CUdeviceptr address, CUdeviceptr* begin, std::size_t* bytes) noexcept {
  const std::optional<Kept> kept = find_live_around(address);
  if (!kept) return false;
  if (begin != nullptr) *begin = kept->block.begin;
  if (bytes != nullptr) *bytes = size_of(*kept);
  return true;
}

} // namespace gmt::interposer::kernel_checks
