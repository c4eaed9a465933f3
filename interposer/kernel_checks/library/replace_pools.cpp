// SPDX-License-Identifier: Apache-2.0
// Memory that streams give out and free: its entries in the table change in the order of the
// stream, so that a kernel sees a block as it is when the kernel runs. What is freed stays marked
// until the pool gives it out again. Memory of graphs is unknown, and so is what this process gives
// out in another way where a pool had memory before.
#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

constinit std::atomic<bool> any_marked{false}; // there may be marks of memory that is no block's

// A stream in whose order its context's table may be written.
struct Order {
  CUstream stream;
  Table* table;
};
std::optional<Order> ordered(CUstream stream) noexcept {
  if (!any_capture()) has_table();
  if (!is_any_table()) return std::nullopt;
  Table* const own = table_of(context_of_stream(stream));
  if (own == nullptr || !has_marks(*own) || capture_of(stream) != Capture::kNone)
    return std::nullopt;
  return Order{stream, own};
}

// A thread's own stream ends with the thread: what is left to do there then may hang the driver
// (580). So a mark is waited for where the program has left nothing to do.
bool put(const Mark& mark, const Order& order) noexcept {
  const auto& [stream, own] = order;
  const Work work(own->context());
  if (!work.ready()) return false;
  own->settle();
  const bool is_idle = stream == CU_STREAM_PER_THREAD && driver.is_stream_busy(stream) == 0;
  return put_mark(*own, mark, stream) && (!is_idle || driver.wait_for_stream(stream) == 0);
}

Mark unknown(std::uint64_t begin, std::uint64_t end) noexcept {
  Mark mark{{begin / kGranule * kGranule, end}};
  mark.behind = rewriter::kNoBlock;
  return mark;
}

// In a stream of a context that has no kernel of ours. What its pool freed before may still have to
// be marked, in a stream that this one waits for: a set behind that says the last word. Only if no
// other device has a table.
bool forget_in_order(const rewriter::Block& block, CUstream stream) noexcept {
  const CUcontext context = context_of_stream(stream);
  if (context == nullptr || table_of(context) != nullptr) return false;
  if (capture_of(stream) != Capture::kNone) return false;
  const Work work(context);
  CUdevice device = -1;
  if (!work.ready() || driver.device(&device) != 0) return false;
  Table* own = nullptr;
  bool are_others = false;
  for_each_memory([&](Table& one) {
    if (one.device() == device) own = &one;
    else are_others = true;
  });
  if (own == nullptr || are_others || !own->covers(block.begin, block.end)) return false;
  const std::uint64_t granules = (block.end - block.begin + kGranule - 1) / kGranule;
  own->settle();
  return driver.set_16(rewriter::entry_address(own->placed(), block.begin),
                       static_cast<unsigned short>(rewriter::kNoBlock), granules, stream) == 0;
}

// Pools of another device, and those of the host, may be used by streams of several devices.
enum class PoolOf : std::uint8_t { kDevice, kOtherDevice, kHost };
PoolOf pool_of(CUdeviceptr address, const Table& own) noexcept {
  if (!Table::has_other_devices()) return PoolOf::kDevice;
  unsigned type = 0;
  int device = -1;
  if (driver.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != 0 ||
      driver.pointer_attribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) != 0)
    return PoolOf::kOtherDevice;
  if (type != CU_MEMORYTYPE_DEVICE) return PoolOf::kHost;
  return device == own.device() ? PoolOf::kDevice : PoolOf::kOtherDevice;
}

// Else the host may write it, too.
bool is_of_device(CUdeviceptr address) noexcept {
  unsigned type = 0, is_managed = 1;
  return core->settings.checks_written &&
         driver.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == 0 &&
         driver.pointer_attribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 0 &&
         type == CU_MEMORYTYPE_DEVICE && is_managed == 0;
}

// What is given out or freed in a stream that is not followed. Nothing of ours can be in the order
// of another device's stream. So marks of all pools say no more from now on, those that are queued
// in other streams, too.
void forget_ordered(CUdeviceptr address, std::size_t bytes, CUstream stream) noexcept {
  const Mark mark = unknown(address, address + bytes);
  forget_unwritten(address, bytes);
  if (!any_marked.load() || !is_any_table()) return;
  if (forget_in_order(mark.block, stream)) return;
  if (Table::has_other_devices()) {
    distrust_pools();
    note_unchecked(
      "", "memory of pools counts as right from when streams of several devices use it", 0);
  }
  forget_range(address, bytes);
}

// What the driver gave out; `has_poison`: more than was asked for.
void add_ordered(CUdeviceptr address, std::size_t bytes, bool has_poison, CUmemoryPool pool,
                 const Order& order) noexcept {
  Kept kept{{address, address + bytes}};
  kept.is_ordered = true;
  kept.table = order.table->index();
  if (has_poison) kept.pool = reinterpret_cast<std::uint64_t>(pool);
  any_marked.store(true);
  addresses_given_out(address, has_poison ? with_poison(bytes) : bytes);
  const Table& own = *order.table;
  const PoolOf pool_is_of = pool_of(address, own);
  const bool is_own = pool_is_of == PoolOf::kDevice;
  if (is_own && has_poison && address % kGranule == 0 &&
      own.covers(kept.block.begin, kept.block.end)) {
    kept.slot = take_slot();
    kept.is_in_table = put({kept.block, 1, true, kept.slot, rewriter::kPoisonEntry}, order);
    if (!kept.is_in_table) give_slot(std::exchange(kept.slot, kNoSlot));
  }
  const Mark mark = unknown(address, address + (has_poison ? with_poison(bytes) : bytes));
  if (pool_is_of == PoolOf::kHost) forget_range(address, mark.block.end - address);
  else if (!is_own) forget_ordered(address, mark.block.end - address, order.stream);
  else if (!kept.is_in_table && own.covers(mark.block.begin, mark.block.end)) put(mark, order);
  keep_live(kept);
  forget_unwritten(address, with_poison(bytes));
  if (kept.is_in_table && !any_capture() && is_of_device(address)) follow_unwritten(kept.block);
}

// `from(bytes)` is the driver's. No pool: the one that the device has now.
template <class From>
CUresult allocate_ordered(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                          CUstream named, From from) noexcept {
  const std::optional<Order> order = ordered(named);
  const bool is_usual = is_ordinary(address, bytes);
  bool has_poison = is_usual && order;
  int result = with_resting_released([&] { return from(has_poison ? with_poison(bytes) : bytes); });
  if (has_poison && result == CUDA_ERROR_OUT_OF_MEMORY) { // without poison it may fit
    has_poison = false;
    result = from(bytes);
  }
  if (result != CUDA_SUCCESS || !is_usual) return static_cast<CUresult>(result);
  if (pool == nullptr && has_poison) driver.pool_of_device(&pool, order->table->device());
  if (order) add_ordered(*address, bytes, has_poison, pool, *order);
  else forget_ordered(*address, bytes, named);
  if (capture_of(named) == Capture::kActive) note_not_followed(kGraphsAreNotFollowed);
  return CUDA_SUCCESS;
}

template <Name kName>
CUresult allocate_async(CUdeviceptr* address, std::size_t bytes, CUstream stream) noexcept {
  return allocate_ordered(
    address, bytes, nullptr, named_stream(stream, kName.text), [=](std::size_t wanted) {
      return own<kName, CUdeviceptr*, std::size_t, CUstream>(address, wanted, stream);
    });
}

template <Name kName>
CUresult allocate_from_pool(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                            CUstream stream) noexcept {
  return allocate_ordered(address, bytes, pool, named_stream(stream, kName.text),
                          [=](std::size_t wanted) {
                            return own<kName, CUdeviceptr*, std::size_t, CUmemoryPool, CUstream>(
                              address, wanted, pool, stream);
                          });
}

// Freed in the order of a stream that is followed.
std::optional<Kept> take_ordered(CUdeviceptr address, const std::optional<Order>& order) noexcept {
  const std::optional<Kept> kept = order ? find_live(address) : std::nullopt;
  const bool is_followed =
    kept && kept->is_ordered && table_at(kept->table).shares_memory_with(*order->table);
  return is_followed ? take_live(address) : std::nullopt;
}

// A block that another stream frees: its entries may still be to be written.
void forget_elsewhere(CUdeviceptr address, CUstream stream) noexcept {
  const std::optional<Kept> kept = find_live(address);
  if (!kept || !kept->is_ordered) return forget_block(address);
  const std::optional<Kept> taken = take_live(address);
  if (!taken || !taken->is_in_table) return;
  forget_ordered(address, with_poison(size_of(*taken)), stream);
  give_slot(taken->slot);
}

template <Name kName> CUresult free_async(CUdeviceptr address, CUstream stream) noexcept {
  const CUstream named = named_stream(stream, kName.text);
  const std::optional<Order> order = ordered(named);
  const std::optional<Kept> kept = take_ordered(address, order);
  if (!kept) forget_elsewhere(address, named);
  if (kept && kept->is_in_table) put({kept->block, 1, false, 0, rewriter::kFreedEntry}, *order);
  const int result = own<kName, CUdeviceptr, CUstream>(address, stream);
  if (!kept) return static_cast<CUresult>(result);
  if (result == CUDA_SUCCESS) {
    give_slot(kept->slot);
  } else {
    if (kept->is_in_table) put({kept->block, 1, true, kept->slot, rewriter::kPoisonEntry}, *order);
    keep_live(*kept);
  }
  return static_cast<CUresult>(result);
}

// ---- what CUDA says of pools: without the poison

CUresult pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) noexcept {
  const int result =
    own<"cuMemPoolGetAttribute", CUmemoryPool, CUmemPool_attribute, void*>(pool, attribute, value);
  const bool is_most = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  if (result == CUDA_SUCCESS && (is_most || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)) {
    cuuint64_t& used = *static_cast<cuuint64_t*>(value);
    used -= std::min(used, poison_in_pool(reinterpret_cast<std::uint64_t>(pool), is_most));
  }
  return static_cast<CUresult>(result);
}

CUresult set_pool_attribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                            void* value) noexcept {
  const int result =
    own<"cuMemPoolSetAttribute", CUmemoryPool, CUmemPool_attribute, void*>(pool, attribute, value);
  if (result == CUDA_SUCCESS && attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    begin_most_of_pool(reinterpret_cast<std::uint64_t>(pool));
  return static_cast<CUresult>(result);
}

// ---- other memory, which may lie where a pool had some

CUresult create(CUmemGenericAllocationHandle* memory, std::size_t bytes,
                const CUmemAllocationProp* what, unsigned long long flags) noexcept {
  return static_cast<CUresult>(
    with_resting_released([=] { return driver.create(memory, bytes, what, flags); }));
}

} // namespace

void note_ranges_to_forget() noexcept { any_marked.store(true); }

void forget_range(CUdeviceptr begin, std::size_t bytes) noexcept {
  forget_unwritten(begin, bytes);
  addresses_given_out(begin, bytes);
  if (!any_marked.load() || bytes == 0) return;
  const rewriter::Block block{begin / kGranule * kGranule, begin + bytes};
  for_each_memory([&block](Table& one) {
    if (!one.covers(block.begin, block.end)) return;
    const Work work(one.context());
    if (work.ready()) one.write_mapped(block);
  });
}

void replace_pools() noexcept {
#define PUT(function, symbol) replace(symbol, reinterpret_cast<void*>(&function<symbol>))
  PUT(allocate_async, "cuMemAllocAsync");
  PUT(allocate_async, "cuMemAllocAsync_ptsz");
  PUT(allocate_from_pool, "cuMemAllocFromPoolAsync");
  PUT(allocate_from_pool, "cuMemAllocFromPoolAsync_ptsz");
  PUT(free_async, "cuMemFreeAsync");
  PUT(free_async, "cuMemFreeAsync_ptsz");
#undef PUT
  replace("cuMemPoolGetAttribute", reinterpret_cast<void*>(&pool_attribute));
  replace("cuMemPoolSetAttribute", reinterpret_cast<void*>(&set_pool_attribute));
  replace("cuMemCreate", reinterpret_cast<void*>(&create));
}

} // namespace gmt::interposer::kernel_checks
