// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/written.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/memory.h"
#include "rewriter/written_table.h"
#include "trace/kernel_check_words.h"

namespace gmt::interposer::kernel_checks {

namespace {

constexpr std::uint64_t kStride = rewriter::kBytesOfPage + rewriter::kBehindPage;
constexpr std::uint64_t kAddressesOfPage = std::uint64_t{1} << rewriter::kPageBits;

// A block that may have unwritten bytes. Another one may get its address, but not its number.
struct Followed {
  std::uint64_t begin, end, number;
};
struct Pages {
  std::map<std::uint64_t, std::uint64_t> pages; // their addresses, by number
  std::map<std::uint64_t, Followed> blocks;     // by their begins
  std::uint64_t newest = 0;                     // number of a block
};
constinit Lasting<Pages> all_pages;                     // with the lock
constinit std::atomic<std::uint64_t> table_of_pages{0}; // 0: nothing is followed
constinit std::atomic<bool> has_blocks{false};
constinit std::atomic<bool> has_stopped{false}; // in this context

// A line of "not checked" that is about unwritten bytes alone.
void note_of_init(const char* reason) noexcept {
  char line[160];
  std::snprintf(line, sizeof line, "%s%s", trace::kInitReason, reason);
  note_unchecked("", line, 0);
}

// A part of a block on one page.
struct Piece {
  std::uint64_t at, count; // of states
};

// With the lock.
std::vector<Piece> pieces_of(std::uint64_t begin, std::uint64_t end) {
  std::vector<Piece> pieces;
  for (std::uint64_t address = begin; address < end;) {
    const std::uint64_t next = std::min(end, (address / kAddressesOfPage + 1) * kAddressesOfPage);
    const auto page =
      (*all_pages).pages.find(rewriter::page_index(first_table().placed(), address));
    if (page != (*all_pages).pages.end()) {
      const std::uint64_t first = address / rewriter::kWordBytes;
      const std::uint64_t last = (next - 1) / rewriter::kWordBytes;
      pieces.push_back({page->second + rewriter::offset_in_page(address), last - first + 1});
    }
    address = next;
  }
  return pieces;
}

void set_states(const std::vector<Piece>& pieces, std::uint8_t state) noexcept {
  for (const Piece& piece : pieces) first_table().write_bytes(piece.at, state, piece.count);
}

// All of them are there now, or none is new.
bool make_pages(std::uint64_t first, std::uint64_t last) noexcept {
  std::vector<std::uint64_t> missing;
  {
    const Locked lock;
    for (std::uint64_t i = first; i <= last; ++i) {
      if (!(*all_pages).pages.contains(i)) missing.push_back(i);
    }
  }
  if (missing.empty()) return true;
  CUdeviceptr at = 0;
  if (driver.allocate(&at, missing.size() * kStride) != 0) return false;
  if (!first_table().write_bytes(at, rewriter::kIsWritten, missing.size() * kStride)) return false;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const std::uint64_t page = at + i * kStride;
    if (!first_table().write_word(table_of_pages.load() + missing[i] * sizeof page, page))
      return false;
  }
  const Locked lock;
  for (std::size_t i = 0; i < missing.size(); ++i)
    (*all_pages).pages.try_emplace(missing[i], at + i * kStride);
  return true;
}

// Of blocks that the range meets what is in both, and the blocks that are wholly in it.
struct Met {
  std::vector<Piece> pieces;
  std::vector<Followed> whole;
};
Met meet(std::uint64_t begin, std::uint64_t end) {
  const Locked lock;
  const auto& blocks = (*all_pages).blocks;
  Met met;
  auto at = blocks.upper_bound(begin);
  if (at != blocks.begin() && std::prev(at)->second.end > begin) --at;
  for (; at != blocks.end() && at->first < end; ++at) {
    const Followed& block = at->second;
    const std::uint64_t from = std::max(begin, block.begin), to = std::min(end, block.end);
    for (const Piece& piece : pieces_of(from, to)) met.pieces.push_back(piece);
    if (from == block.begin && to == block.end) met.whole.push_back(block);
  }
  return met;
}

// Behind the marks: who marks a block meanwhile must find it here, or would go on before its bytes
// count as written. False: it has been freed.
bool end_following(const Followed& block) {
  const Locked lock;
  auto& blocks = (*all_pages).blocks;
  const auto at = blocks.find(block.begin);
  if (at == blocks.end() || at->second.number != block.number) return false;
  blocks.erase(at);
  has_blocks.store(!blocks.empty());
  return true;
}

struct Rows {
  std::uint64_t at, words, pitch, count; // of states
};

// Those that lie on one page each; `cross(address)` for the others.
template <class Cross>
std::vector<Rows> rows_of(std::uint64_t begin, std::uint64_t bytes, std::uint64_t pitch,
                          std::uint64_t rows, Cross cross) {
  std::vector<Rows> all;
  for (std::uint64_t row = 0; row < rows;) {
    const std::uint64_t address = begin + row * pitch;
    const std::uint64_t next_page = (address / kAddressesOfPage + 1) * kAddressesOfPage;
    if (address + bytes > next_page) {
      cross(address);
      ++row;
      continue;
    }
    const std::uint64_t count = std::min(rows - row, (next_page - bytes - address) / pitch + 1);
    const std::uint64_t first = address / rewriter::kWordBytes;
    const std::uint64_t last = (address + bytes - 1) / rewriter::kWordBytes;
    const Locked lock;
    const auto page =
      (*all_pages).pages.find(rewriter::page_index(first_table().placed(), address));
    if (page != (*all_pages).pages.end())
      all.push_back({page->second + rewriter::offset_in_page(address), last - first + 1,
                     pitch / rewriter::kWordBytes, count});
    row += count;
  }
  return all;
}

// Kernels that get the block need not ask.
void note_wholly_written(std::uint64_t begin) noexcept {
  const std::optional<Kept> kept = find_live(begin);
  if (kept && kept->slot != kNoSlot)
    first_table().write_word(rewriter::slot_address(first_table().placed(), kept->slot),
                             begin | rewriter::kIsWhollyWritten);
}

} // namespace

std::uint64_t table_of_written_pages() noexcept { return table_of_pages.load(); }

void begin_written() noexcept {
  if (!core->settings.checks_written) return;
  const std::uint64_t count = rewriter::page_count(first_table().placed());
  CUdeviceptr at = 0; // the table, and behind it the page of what is not followed
  if (driver.allocate(&at, count * sizeof(std::uint64_t) + kStride) != 0) {
    note_of_init("the device had no memory to know what is written");
    return;
  }
  const std::uint64_t page = at + count * sizeof page;
  const std::vector<std::uint64_t> all(count, page);
  if (driver.send(at, all.data(), count * sizeof page, first_table().stream()) != 0 ||
      driver.set_8(page, rewriter::kIsWritten, kStride, first_table().stream()) != 0 ||
      driver.wait_for_stream(first_table().stream()) != 0)
    return;
  has_stopped.store(false);
  table_of_pages.store(at);
}

void forget_written() noexcept {
  const Locked lock;
  table_of_pages.store(0);
  has_blocks.store(false);
  *all_pages = Pages();
}

void abandon_written() noexcept {
  table_of_pages.store(0);
  has_blocks.store(false);
  all_pages.begin_anew();
}

void follow_unwritten(const rewriter::Block& block) noexcept {
  if (table_of_pages.load() == 0 || has_stopped.load()) return;
  forget_unwritten(block.begin, block.end - block.begin);
  const Work work(first_table().context());
  if (may_any_run()) {
    note_of_init("memory that is allocated while kernels may run counts as written");
    if (work.ready()) note_wholly_written(block.begin);
    return;
  }
  const rewriter::Options& placed = first_table().placed();
  if (!work.ready()) return;
  if (!make_pages(rewriter::page_index(placed, block.begin),
                  rewriter::page_index(placed, block.end - 1))) {
    note_of_init("the device had no memory to know what of a block is written");
    return;
  }
  std::vector<Piece> pieces;
  {
    const Locked lock;
    pieces = pieces_of(block.begin, block.end);
  }
  set_states(pieces, rewriter::kIsUnwritten);
  {
    const Locked lock;
    Pages& all = *all_pages;
    all.blocks.insert_or_assign(block.begin, Followed{block.begin, block.end, ++all.newest});
    has_blocks.store(true);
  }
  // Another thread may have marked everything before the block was there.
  if (may_any_run() || has_stopped.load()) mark_written(block.begin, block.end - block.begin);
}

void mark_written(std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (!has_blocks.load() || bytes == 0) return;
  const std::uint64_t end = begin + std::min(bytes, ~begin);
  const Met met = meet(begin, end);
  if (met.pieces.empty()) return;
  const Work work(first_table().context());
  if (!work.ready()) return;
  set_states(met.pieces, rewriter::kIsWritten);
  for (const Followed& block : met.whole) {
    if (end_following(block)) note_wholly_written(block.begin);
  }
}

// Each row has the same words if the pitch is a multiple of theirs.
void mark_rows_written(std::uint64_t begin, std::uint64_t bytes, std::uint64_t pitch,
                       std::uint64_t rows) noexcept {
  if (!has_blocks.load() || bytes == 0 || rows == 0) return;
  const std::uint64_t all = pitch * (rows - 1) + bytes;
  const bool is_usual = bytes < pitch && pitch <= kAddressesOfPage && all / pitch == rows - 1 &&
                        pitch % rewriter::kWordBytes == 0 &&
                        first_table().covers(begin, begin + all);
  if (!is_usual || rows == 1) return mark_written(begin, all);
  const Work work(first_table().context());
  if (!work.ready()) return;
  const auto cross = [bytes](std::uint64_t address) { mark_written(address, bytes); };
  for (const Rows& part : rows_of(begin, bytes, pitch, rows, cross)) {
    if (!first_table().write_rows(part.at, part.pitch, rewriter::kIsWritten, part.words,
                                  part.count))
      return mark_written(begin, all);
  }
}

void mark_block_written(std::uint64_t address) noexcept {
  std::uint64_t begin = 0, end = 0;
  if (has_blocks.load()) {
    const Locked lock;
    const auto next = (*all_pages).blocks.upper_bound(address);
    if (next != (*all_pages).blocks.begin()) {
      const Followed& before = std::prev(next)->second;
      begin = before.begin;
      end = before.end;
    }
  }
  if (address < end) mark_written(begin, end - begin);
}

void end_unwritten(std::uint64_t begin) noexcept { mark_block_written(begin); }

void forget_unwritten(std::uint64_t begin, std::uint64_t bytes) noexcept {
  if (!has_blocks.load() || bytes == 0) return;
  const std::uint64_t end = begin + bytes;
  std::vector<Followed> former;
  {
    const Locked lock;
    const auto& blocks = (*all_pages).blocks;
    auto at = blocks.upper_bound(begin);
    if (at != blocks.begin() && std::prev(at)->second.end > begin) --at;
    for (; at != blocks.end() && at->first < end; ++at) former.push_back(at->second);
  }
  for (const Followed& block : former) mark_written(block.begin, block.end - block.begin);
}

void mark_all_written() noexcept {
  if (table_of_pages.load() == 0) return;
  begin_launch(); // what is given out from now on is not followed
  mark_written(0, ~std::uint64_t{0});
}

void note_not_followed(const char* reason) noexcept {
  if (table_of_pages.load() != 0) note_of_init(reason);
}

void stop_following_writes(const char* reason) noexcept {
  if (table_of_pages.load() == 0) return;
  has_stopped.store(true);
  mark_all_written();
  note_of_init(reason);
}

} // namespace gmt::interposer::kernel_checks
