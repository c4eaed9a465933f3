// SPDX-License-Identifier: Apache-2.0
#include "interposer/kernel_checks/library/table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <sched.h>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/driver.h"
#include "interposer/kernel_checks/library/lasting.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/tables.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

// The driver gives out what is left of a reservation's last piece: far from all other memory.
constexpr std::uint64_t kReserved = std::uint64_t{1} << 30; // in multiples of it
constexpr std::uint64_t kShareOfMemory = 16;        // at most one in so many bytes of the device
constexpr unsigned kLeastBits = 34, kMostBits = 40; // of both windows
constexpr std::uint32_t kRecords = 4096;

// One thread does it, others wait for it.
enum class CodeState : std::uint8_t { kNew, kBusy, kThere, kNone };
constinit std::atomic<CodeState> code_state{CodeState::kNew};
constinit std::atomic<int> devices{1};

struct OfAll {
  rewriter::Options code;                        // written once
  std::array<TableMemory, kMostTables> memories; // by device
  TableMemory none;                              // of a context without a table
};
constinit Lasting<OfAll> of_all;

// An entry of 2 bytes stands for 512: 256 times as many addresses as the table may have bytes. Code
// is for all devices, so the smallest one decides.
unsigned window_bits() noexcept {
  unsigned least = kMostBits;
  for (CUdevice device = 0; device < devices.load(); ++device) {
    std::size_t total = 0;
    if (driver.total(&total, device) != 0 || total == 0) continue;
    const auto bits = static_cast<unsigned>(std::bit_width(total / kShareOfMemory * 256)) - 1;
    least = std::min(least, std::max(bits, kLeastBits));
  }
  return least;
}

bool map(CUdevice device, CUdeviceptr to, std::uint64_t bytes) noexcept {
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

bool reserve_and_map(TableMemory& memory, CUdevice device) noexcept {
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  std::size_t granularity = 0;
  if (driver.granularity(&granularity, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != 0) return false;
  memory.options = (*of_all).code;
  const std::uint64_t wanted = rewriter::table_bytes(memory.options);
  const std::uint64_t bytes = (wanted + granularity - 1) / granularity * granularity;
  const std::uint64_t reserved =
    (bytes + 2 * Table::kBytesBehind + kReserved - 1) / kReserved * kReserved;
  CUdeviceptr address = 0;
  if (driver.reserve(&address, reserved, 0, kWantedTable, 0) != 0 &&
      driver.reserve(&address, reserved, 0, 0, 0) != 0)
    return false;
  memory.options.table = address;
  memory.end = address + bytes;
  if (map(device, address, bytes)) {
    memory.device = device;
    return true;
  }
  driver.give_addresses_back(address, reserved);
  return false;
}

// One thread at a time asks.
TableMemory* memory_of(CUdevice device) noexcept {
  if (device < 0 || static_cast<unsigned>(device) >= kMostTables) return nullptr;
  TableMemory& memory = (*of_all).memories[static_cast<unsigned>(device)];
  const bool is_there = memory.device == device || reserve_and_map(memory, device);
  return is_there ? &memory : nullptr;
}

CodeState settle_code() noexcept {
  CUcontext context = nullptr;
  CUdevice device = 0;
  int count = 0;
  const bool has_context = driver.current(&context) == 0 && context != nullptr;
  if (has_context && driver.device(&device) != 0) return CodeState::kNone;
  devices.store(driver.device_count(&count) == 0 ? count : 2);
  rewriter::Options& code = (*of_all).code;
  code.records = kRecords;
  code.checks_written = core->settings.checks_written;
  code.window = 0; // the code has it from the host: it differs from context to context
  code.window_bits = window_bits();
  const TableMemory* const first = memory_of(device);
  if (first == nullptr) return CodeState::kNone;
  // Code that has the address in it is the same in each process only if the address is. Devices
  // have a table each.
  const bool is_alone = devices.load() == 1;
  if (is_alone && first->options.table == kWantedTable) code.table = kWantedTable;
  // Plain kernels are on other devices, too, and in modules that nothing was written into.
  code.checks_by_pointer = code.table != 0;
  return CodeState::kThere;
}

} // namespace

Table::Table() noexcept : memory_(&(*of_all).none) {}

const rewriter::Options& Table::options() noexcept { return (*of_all).code; }
bool Table::has_other_devices() noexcept { return devices.load() != 1; }
void Table::avoid_grids() noexcept { avoids_grids_.store(true); }

bool Table::prepare() noexcept {
  CodeState known = code_state.load(std::memory_order_acquire);
  if (known == CodeState::kNew && code_state.compare_exchange_strong(known, CodeState::kBusy)) {
    known = settle_code();
    code_state.store(known, std::memory_order_release);
  }
  while (known == CodeState::kBusy) {
    sched_yield();
    known = code_state.load(std::memory_order_acquire);
  }
  return known == CodeState::kThere;
}

// Who was settling it is not in the child.
void Table::abandon_preparing() noexcept {
  CodeState busy = CodeState::kBusy;
  code_state.compare_exchange_strong(busy, CodeState::kNone);
}

void Table::begin_anew() noexcept {
  of_all.begin_anew();
  avoids_grids_.store(false);
  code_state.store(CodeState::kNew);
}

// The upper one is around where the context gives out memory, now that the table has its place:
// half of it above, half below. Pools and what programs map themselves lie in the lower one.
bool Table::choose_window() noexcept {
  CUdeviceptr address = 0;
  if (driver.allocate(&address, kGranule) != 0) return false;
  if (!is_any_table()) driver.free(address); // which may wait for kernels of peers
  constexpr std::uint64_t kUnit = std::uint64_t{1} << 32;
  rewriter::Options& at = memory_->options;
  const std::uint64_t bytes = rewriter::window_bytes(at);
  const std::uint64_t begin = address - std::min<std::uint64_t>(address, bytes / 2);
  at.window = std::max(bytes, (begin + kUnit / 2) / kUnit * kUnit);
  return true;
}

// Granularities of the driver divide kBytesBehind.
CUdeviceptr Table::memory_behind() noexcept {
  std::atomic<CUdeviceptr>& behind = memory_->behind;
  if (behind.load() != 0) return behind.load();
  const CUdeviceptr begin = (memory_->end + kBytesBehind - 1) / kBytesBehind * kBytesBehind;
  if (map(device(), begin, kBytesBehind)) behind.store(begin);
  return behind.load();
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

bool Table::fill_all() noexcept {
  const rewriter::Options& at = memory_->options;
  const std::uint64_t entries = std::uint64_t{1} << (at.window_bits - rewriter::kGranuleBits);
  const std::uint64_t none = at.lowest_address >> rewriter::kGranuleBits;
  const rewriter::Block everything{at.checks_written ? rewriter::kIsWhollyWritten : 0,
                                   ~std::uint64_t{0}};
  const std::uint32_t last = rewriter::kBlockSlots - 1;
  const bool is_written =
    driver.set_16(at.table, static_cast<unsigned short>(rewriter::kNoBlock), entries, stream_) ==
      0 &&
    driver.set_16(at.table, static_cast<unsigned short>(rewriter::kUnmappedEntry), none, stream_) ==
      0 &&
    driver.send(rewriter::slot_address(at, last), &everything, sizeof everything, stream_) == 0;
  return wait() && is_written;
}

bool Table::enter(CUcontext context) noexcept {
  CUdevice device = -1;
  const Work work(context);
  if (!work.ready() || driver.device(&device) != 0) return false;
  if (int count = 0; driver.device_count(&count) == 0) devices.store(count);
  TableMemory* const memory = memory_of(device);
  if (memory == nullptr) return false;
  memory_ = memory;
  device_ = device;
  if (driver.make_stream(&stream_, CU_STREAM_NON_BLOCKING) != 0) return false;
  const bool is_first = memory_->writer.load() == nullptr;
  if (is_first && (!choose_window() || !fill_all())) return false;
  if (index_ == 0) begin_written();
  flag_ = share_flag(index_);
  load_marks(*this); // without them, pools' memory is unknown
  is_primary_ = is_primary(context);
  if (is_first) memory_->writer.store(this);
  context_.store(context, std::memory_order_release);
  return true;
}

void Table::leave() noexcept {
  forget_flag(index_);
  forget_marks(index_);
  if (is_writer()) {
    memory_->settled.store(memory_->issued.load()); // its writes have ended with it
    memory_->writer.store(nullptr);
  }
  context_.store(nullptr, std::memory_order_release);
}

bool Table::covers(std::uint64_t begin, std::uint64_t end) const noexcept {
  return end > begin && begin >= memory_->options.lowest_address &&
         rewriter::are_covered(placed(), begin, end + kGranule - 1);
}

} // namespace gmt::interposer::kernel_checks
