// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <ctime>
#include <memory>
#include <new>
#include <sched.h>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The driver gives out what is left of a reservation's last piece: far from all other memory.
constexpr std::uint64_t kReserved = std::uint64_t{1} << 30; // in multiples of it
constexpr std::uint64_t kShareOfMemory = 16;        // at most one in so many bytes of the device
constexpr unsigned kLeastBits = 34, kMostBits = 40; // of both windows
constexpr std::uint32_t kRecords = 4096;

std::uint64_t granules_of(const rewriter::Block& block) noexcept {
  return (block.end - block.begin + kGranule - 1) / kGranule;
}

} // namespace

// An entry of 2 bytes stands for 512: 256 times as many addresses as the table may have bytes.
void Table::choose_size(CUdevice device) noexcept {
  std::size_t total = 0;
  if (driver.total(&total, device) != 0 || total == 0) return;
  const auto bits = static_cast<unsigned>(std::bit_width(total / kShareOfMemory * 256)) - 1;
  options_.window_bits = std::clamp(bits, kLeastBits, kMostBits);
}

// The upper one is around where the context gives out memory, now that the table has its place:
// half of it above, half below. Pools and what programs map themselves lie in the lower one.
bool Table::choose_window() noexcept {
  CUdeviceptr address = 0;
  if (driver.allocate(&address, kGranule) != 0) return false;
  driver.free(address);
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 32;
  const std::uint64_t bytes = rewriter::window_bytes(options_);
  const std::uint64_t begin = address - std::min<std::uint64_t>(address, bytes / 2);
  at_.window = std::max(bytes, (begin + kUnit / 2) / kUnit * kUnit);
  return true;
}

bool Table::map(CUdevice device, CUdeviceptr to, std::uint64_t bytes) noexcept {
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  CUmemGenericAllocationHandle memory = 0;
  if (driver.create(&memory, bytes, &what, 0) != 0) return false;
  const bool is_mapped = driver.map(to, bytes, 0, memory, 0) == 0;
  driver.release(memory); // the mapping keeps it
  const CUmemAccessDesc access{what.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return is_mapped && driver.set_access(to, bytes, &access, 1) == 0;
}

bool Table::reserve_and_map(CUdevice device) noexcept {
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  std::size_t granularity = 0;
  if (driver.granularity(&granularity, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != 0) return false;
  at_ = options_;
  const std::uint64_t wanted = rewriter::table_bytes(options_);
  const std::uint64_t bytes = (wanted + granularity - 1) / granularity * granularity;
  const std::uint64_t reserved = (bytes + 2 * kBytesBehind + kReserved - 1) / kReserved * kReserved;
  CUdeviceptr address = 0;
  if (driver.reserve(&address, reserved, 0, kWantedTable, 0) != 0 &&
      driver.reserve(&address, reserved, 0, 0, 0) != 0)
    return false;
  at_.table = address;
  // Code that has the address in it is the same in each process only if the address is.
  if (address == kWantedTable) options_.table = address;
  end_ = address + bytes;
  if (map(device, address, bytes)) return true;
  driver.give_addresses_back(address, reserved);
  return false;
}

Table::State Table::make() noexcept {
  CUcontext context = nullptr;
  const bool has_context = driver.current(&context) == 0 && context != nullptr;
  if (has_context && driver.device(&device_) != 0) return State::kNone;
  options_.records = kRecords;
  options_.checks_written = core->settings.checks_written;
  options_.window = 0; // the code has it from the host: it differs from context to context
  choose_size(device_);
  if (!reserve_and_map(device_)) return State::kNone;
  // Plain kernels are on other devices, too, and in modules that nothing was written into.
  int devices = 0;
  options_.checks_by_pointer =
    options_.table != 0 && driver.device_count(&devices) == 0 && devices == 1;
  return State::kThere;
}

bool Table::prepare() noexcept {
  State state = state_.load(std::memory_order_acquire);
  if (state == State::kNew && state_.compare_exchange_strong(state, State::kBusy)) {
    state = make();
    state_.store(state, std::memory_order_release);
  }
  while (state == State::kBusy) {
    sched_yield();
    state = state_.load(std::memory_order_acquire);
  }
  return state == State::kThere;
}

// Granularities of the driver divide kBytesBehind.
CUdeviceptr Table::memory_behind() noexcept {
  if (behind_.load() != 0) return behind_.load();
  const CUdeviceptr begin = (end_ + kBytesBehind - 1) / kBytesBehind * kBytesBehind;
  if (map(device_, begin, kBytesBehind)) behind_.store(begin);
  return behind_.load();
}

bool Table::wait() noexcept { return driver.wait_for_stream(stream_) == 0; }

// A primary context that is not there is not made: this would be the only one to hold it.
bool Table::is_primary(CUcontext context) const noexcept {
  unsigned flags = 0;
  int is_there = 0;
  CUcontext primary = nullptr;
  if (driver.primary_state(device_, &flags, &is_there) != 0 || is_there == 0) return false;
  if (driver.retain_primary(&primary, device_) != 0) return false;
  driver.release_primary(device_);
  return primary == context;
}

bool Table::enter_now(CUcontext context) noexcept {
  CUdevice device = -1;
  const Work work(context);
  if (!work.ready() || driver.device(&device) != 0 || device != device_) return false;
  if (!choose_window() || driver.make_stream(&stream_, CU_STREAM_NON_BLOCKING) != 0) return false;
  const std::uint64_t entries = std::uint64_t{1} << (options_.window_bits - rewriter::kGranuleBits);
  const std::uint64_t none = options_.lowest_address >> rewriter::kGranuleBits;
  const rewriter::Block everything{options_.checks_written ? rewriter::kIsWhollyWritten : 0,
                                   ~std::uint64_t{0}};
  const std::uint32_t last = rewriter::kBlockSlots - 1;
  const bool is_written =
    driver.set_16(at_.table, static_cast<unsigned short>(rewriter::kNoBlock), entries, stream_) ==
      0 &&
    driver.set_16(at_.table, static_cast<unsigned short>(rewriter::kUnmappedEntry), none,
                  stream_) == 0 &&
    driver.send(rewriter::slot_address(at_, last), &everything, sizeof everything, stream_) == 0;
  if (!wait() || !is_written) return false;
  begin_written();
  flag_ = share_flag();
  int devices = 0;
  has_other_devices_ = driver.device_count(&devices) != 0 || devices != 1;
  load_marks(); // without them, pools' memory is unknown
  is_primary_ = is_primary(context);
  context_.store(context, std::memory_order_release);
  return true;
}

// Another thread's try is waited for, though not for ever: its calls may wait for a kernel of the
// program's, and that for this thread. What is done then is unknown memory and plain code.
bool Table::enter(CUcontext context) noexcept {
  if (is_entered_.exchange(true)) {
    constexpr int kMostWaits = 10000;
    constexpr timespec kWait{0, 200000}; // nanoseconds
    for (int i = 0; i < kMostWaits && this->context() == nullptr && is_entered_.load(); ++i)
      nanosleep(&kWait, nullptr);
    return false;
  }
  if (enter_now(context)) return true;
  is_entered_.store(false);
  return false;
}

void Table::leave() noexcept {
  forget_flag();
  settled_.store(issued_.load()); // its writes have ended with it
  context_.store(nullptr, std::memory_order_release);
  is_entered_.store(false);
}

// Who was settling its place is not in the child.
void Table::abandon() noexcept {
  leave();
  State busy = State::kBusy;
  state_.compare_exchange_strong(busy, State::kNone);
}

bool Table::covers(std::uint64_t begin, std::uint64_t end) const noexcept {
  return end > begin && begin >= options_.lowest_address &&
         rewriter::are_covered(at_, begin, end + kGranule - 1);
}

// A larger set is a grid of the device's. Those are counted, and records of malloc in kernels have
// such a number, by which their launch is found. A copy takes longer.
bool Table::fill(std::uint64_t address, std::int32_t entry, std::uint64_t granules) noexcept {
  constexpr std::uint64_t kMostCopied = 65536;
  const std::uint64_t to = rewriter::entry_address(at_, address);
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
  issued_.fetch_add(1);
  if (may_any_run()) settle(); // it may be given to a kernel that runs
  return good;
}

// Another thread may have issued more meanwhile.
void Table::wait_for_writes() noexcept {
  const std::uint64_t issued = issued_.load();
  const Work work(context());
  if (!work.ready() || !wait()) return;
  std::uint64_t settled = settled_.load();
  while (settled < issued && !settled_.compare_exchange_weak(settled, issued)) {
  }
}

// What the last granules have, and the poison, is one copy with all entries before, if these are
// few: each write of the driver's takes some microseconds.
bool Table::write_block(const rewriter::Block& block, std::uint32_t slot) noexcept {
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
  bool good = named == 0 ||
              driver.send(rewriter::slot_address(at_, slot), &block, sizeof block, stream_) == 0;
  good = good && fill(block.begin, rewriter::kFirstBlock + static_cast<std::int32_t>(slot), filled);
  good = good && driver.send(rewriter::entry_address(at_, block.begin + filled * kGranule),
                             entries.data(), count * sizeof entries[0], stream_) == 0;
  return is_issued(good);
}

bool Table::write_bounds(std::uint32_t slot, const rewriter::Block& block) noexcept {
  return slot == kNoSlot || is_issued(driver.send(rewriter::slot_address(at_, slot), &block,
                                                  sizeof block, stream_) == 0);
}

bool Table::write_freed(const rewriter::Block& block) noexcept {
  return is_issued(fill(block.begin, rewriter::kFreedEntry, granules_of(block)));
}

bool Table::write_unmapped(const rewriter::Block& block) noexcept {
  return is_issued(fill(block.begin, rewriter::kUnmappedEntry, granules_of(block)));
}

bool Table::write_mapped(const rewriter::Block& block) noexcept {
  return is_issued(fill(block.begin, rewriter::kNoBlock, granules_of(block)));
}

bool Table::write_bytes(std::uint64_t at, std::uint8_t value, std::uint64_t count) noexcept {
  constexpr std::uint64_t kMostCopied = 65536, kMostBytesOfSet = kMostOfSet * 2;
  std::unique_ptr<std::uint8_t[]> bytes; // NOLINT: there may be no memory for it
  const std::uint64_t most = std::min(count, kMostCopied);
  if (count > kMostBytesOfSet && avoids_grids_.load())
    bytes.reset(new (std::nothrow) std::uint8_t[most]);
  if (bytes == nullptr) return is_issued(driver.set_8(at, value, count, stream_) == 0);
  std::fill_n(bytes.get(), most, value);
  bool good = true;
  for (std::uint64_t i = 0; good && i < count; i += most)
    good = driver.send(at + i, bytes.get(), std::min(most, count - i), stream_) == 0;
  return is_issued(wait() && good);
}

bool Table::write_rows(std::uint64_t at, std::uint64_t pitch, std::uint8_t value,
                       std::uint64_t bytes, std::uint64_t rows) noexcept {
  return !avoids_grids_.load() &&
         is_issued(driver.set_rows(at, pitch, value, bytes, rows, stream_) == 0);
}

bool Table::write_word(std::uint64_t at, std::uint64_t value) noexcept {
  return is_issued(driver.send(at, &value, sizeof value, stream_) == 0);
}

bool Table::write_unknown(const rewriter::Block& block) noexcept {
  return is_issued(fill(block.begin, rewriter::kNoBlock, granules_of(block) + 1));
}

} // namespace gmt::interposer::kernel_checks
