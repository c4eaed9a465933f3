// SPDX-License-Identifier: Apache-2.0
// What is written into tables: by one context of each device, so that all writes have an order.
#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/table.h"

namespace gmt::interposer::kernel_checks {

namespace {

std::uint64_t granules_of(const rewriter::Block& block) noexcept {
  return (block.end - block.begin + kGranule - 1) / kGranule;
}

} // namespace

// `write(table)` is done in the order of all writes into this memory.
template <class Write> bool Table::by_writer(Write write) noexcept {
  Table* const writer = memory_->writer.load();
  if (writer == this || writer == nullptr) return write(*this);
  const Work work(writer->context());
  return work.ready() && write(*writer);
}

// A larger set is a grid of the device's. Those are counted, and records of malloc in kernels have
// such a number, by which their launch is found. A copy takes longer.
bool Table::fill(std::uint64_t address, std::int32_t entry, std::uint64_t granules) noexcept {
  constexpr std::uint64_t kMostCopied = 65536;
  const std::uint64_t to = rewriter::entry_address(placed(), address);
  const auto value = static_cast<unsigned short>(entry);
  const std::uint64_t count = std::min(granules, kMostCopied);
  if (granules == 0) return true;
  std::unique_ptr<unsigned short[]> entries; // NOLINT: there may be no memory for it
  if (granules > kMostOfSet && avoids_grids_.load())
    entries.reset(new (std::nothrow) unsigned short[count]);
  if (entries == nullptr) return driver.set_16(to, value, granules, stream_) == 0;
  std::fill_n(entries.get(), count, value);
  bool good = true;
  for (std::uint64_t i = 0; good && i < granules; i += count)
    good = driver.send(to + i * sizeof value, entries.get(),
                       std::min(count, granules - i) * sizeof value, stream_) == 0;
  return wait() && good; // before the copied entries are gone
}

bool Table::is_issued(bool good) noexcept {
  memory_->issued.fetch_add(1);
  if (may_any_run()) settle(); // it may be given to a kernel that runs
  return good;
}

// Another thread may have issued more meanwhile.
void Table::wait_for_writes() noexcept {
  const std::uint64_t issued = memory_->issued.load();
  if (!by_writer([](Table& by) {
        const Work work(by.context());
        return work.ready() && by.wait();
      }))
    return;
  std::uint64_t settled = memory_->settled.load();
  while (settled < issued && !memory_->settled.compare_exchange_weak(settled, issued)) {
  }
}

// What the last granules have, and the poison, is one copy with all entries before, if these are
// few: each write of the driver's takes some microseconds.
bool Table::write_block(const rewriter::Block& block, std::uint32_t slot) noexcept {
  return by_writer([&](Table& by) { return by.is_issued(by.send_block(block, slot)); });
}

bool Table::send_block(const rewriter::Block& block, std::uint32_t slot) noexcept {
  const std::uint64_t granules = granules_of(block);
  const std::uint64_t full = (block.end - block.begin) / kGranule;
  const std::uint64_t named = full > 1 ? full - 1 : 0; // these and the next ones are full
  const std::uint64_t filled = named + 3 > kMostOfSet ? named : 0;
  std::array<std::int16_t, kMostOfSet> entries; // NOLINT: written below, as far as it is read
  std::size_t count = 0;
  for (std::uint64_t i = filled; i < granules; ++i) {
    const std::uint64_t address = block.begin + i * kGranule;
    entries[count++] = static_cast<std::int16_t>(rewriter::entry_of(block, slot, address));
  }
  entries[count++] = static_cast<std::int16_t>(rewriter::kPoisonEntry);
  bool good = named == 0 || driver.send(rewriter::slot_address(placed(), slot), &block,
                                        sizeof block, stream_) == 0;
  good = good && fill(block.begin, rewriter::kFirstBlock + static_cast<std::int32_t>(slot), filled);
  good = good && driver.send(rewriter::entry_address(placed(), block.begin + filled * kGranule),
                             entries.data(), count * sizeof entries[0], stream_) == 0;
  return good;
}

bool Table::write_bounds(std::uint32_t slot, const rewriter::Block& block) noexcept {
  return slot == kNoSlot || by_writer([&](Table& by) {
           return by.is_issued(driver.send(rewriter::slot_address(by.placed(), slot), &block,
                                           sizeof block, by.stream_) == 0);
         });
}

// What is written of it is not followed. The last 512 bytes have no name: that would say that the
// next ones are right, too.
bool Table::send_run(const rewriter::Block& run, const rewriter::Block& part,
                     std::uint32_t slot) noexcept {
  const std::uint64_t is_written = placed().checks_written ? rewriter::kIsWhollyWritten : 0;
  const rewriter::Block bounds{run.begin | is_written, run.end | rewriter::kTableDecides};
  const auto name = rewriter::kFirstBlock + static_cast<std::int32_t>(slot);
  return driver.send(rewriter::slot_address(placed(), slot), &bounds, sizeof bounds, stream_) ==
           0 &&
         fill(part.begin, name, granules_of(part) - 1) &&
         fill(part.end - kGranule, static_cast<std::int32_t>(kGranule), 1);
}

bool Table::write_run(const rewriter::Block& run, const rewriter::Block& part,
                      std::uint32_t slot) noexcept {
  return by_writer([&](Table& by) { return by.is_issued(by.send_run(run, part, slot)); });
}

bool Table::write_freed(const rewriter::Block& block) noexcept {
  return write_alike(block.begin, rewriter::kFreedEntry, granules_of(block));
}

bool Table::write_unmapped(const rewriter::Block& block) noexcept {
  return write_alike(block.begin, rewriter::kUnmappedEntry, granules_of(block));
}

bool Table::write_mapped(const rewriter::Block& block) noexcept {
  return write_alike(block.begin, rewriter::kNoBlock, granules_of(block));
}

bool Table::write_unknown(const rewriter::Block& block) noexcept {
  return write_alike(block.begin, rewriter::kNoBlock, granules_of(block) + 1);
}

bool Table::write_alike(std::uint64_t begin, std::int32_t entry, std::uint64_t granules) noexcept {
  return by_writer([=](Table& by) { return by.is_issued(by.fill(begin, entry, granules)); });
}

bool Table::write_all_unknown() noexcept {
  return by_writer([](Table& by) { return by.is_issued(by.fill_all()); });
}

bool Table::write_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept {
  return by_writer([=](Table& by) { return by.is_issued(by.send_bytes(at, value, count)); });
}

bool Table::send_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept {
  constexpr std::uint64_t kMostCopied = 65536, kMostBytesOfSet = kMostOfSet * 2;
  std::unique_ptr<std::uint8_t[]> bytes; // NOLINT: there may be no memory for it
  const std::uint64_t most = std::min(count, kMostCopied);
  if (count > kMostBytesOfSet && avoids_grids_.load())
    bytes.reset(new (std::nothrow) std::uint8_t[most]);
  if (bytes == nullptr) return driver.set_8(at, value, count, stream_) == 0;
  std::fill_n(bytes.get(), most, value);
  bool good = true;
  for (std::uint64_t i = 0; good && i < count; i += most)
    good = driver.send(at + i, bytes.get(), std::min(most, count - i), stream_) == 0;
  return wait() && good;
}

bool Table::write_rows(std::uint64_t at, std::uint64_t pitch, std::uint8_t value,
                       std::uint64_t bytes, std::uint64_t rows) noexcept {
  return !avoids_grids_.load() && by_writer([=](Table& by) {
    return by.is_issued(driver.set_rows(at, pitch, value, bytes, rows, by.stream_) == 0);
  });
}

bool Table::write_word(std::uint64_t at, std::uint64_t value) noexcept {
  return by_writer([=](Table& by) {
    return by.is_issued(driver.send(at, &value, sizeof value, by.stream_) == 0);
  });
}

} // namespace gmt::interposer::kernel_checks
