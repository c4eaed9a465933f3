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
#include "interposer/kernel_checks/library/marks.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/news_flag.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/written.h"

namespace gmt::interposer::kernel_checks {

namespace {

constinit std::atomic<bool> any_marked{false}; // there may be marks of memory that is no block's

// The stream, if the table may be written in its order.
std::optional<CUstream> ordered(CUstream stream) noexcept {
  if (!(any_capture() ? is_checked_context() : has_table()) || !has_marks()) return std::nullopt;
  CUcontext context = nullptr;
  if (driver.stream_context(stream, &context) != 0 || context != table().context())
    return std::nullopt;
  return capture_of(stream) == Capture::kNone ? std::optional(stream) : std::nullopt;
}

// A thread's own stream ends with the thread: what is left to do there then may hang the driver
// (580). So a mark is waited for where the program has left nothing to do.
bool put(const Mark& mark, CUstream stream) noexcept {
  const Relaxed relaxed;
  table().settle();
  const bool is_idle = stream == CU_STREAM_PER_THREAD && driver.is_stream_busy(stream) == 0;
  return put_mark(mark, stream) && (!is_idle || driver.wait_for_stream(stream) == 0);
}

Mark unknown(std::uint64_t begin, std::uint64_t end) noexcept {
  Mark mark{{begin / kGranule * kGranule, end}};
  mark.behind = rewriter::kNoBlock;
  return mark;
}

// In a stream of another context, which has no kernel of ours. What its pool freed before may still
// have to be marked, in a stream that this one waits for: a set behind that says the last word.
bool forget_in_order(const rewriter::Block& block, CUstream stream) noexcept {
  CUcontext context = nullptr;
  if (driver.stream_context(stream, &context) != 0 || context == table().context()) return false;
  if (capture_of(stream) != Capture::kNone) return false;
  const Work work(context);
  CUdevice device = -1;
  if (!work.ready() || driver.device(&device) != 0 || device != table().device()) return false;
  const std::uint64_t granules = (block.end - block.begin + kGranule - 1) / kGranule;
  table().settle();
  return driver.set_16(rewriter::entry_address(table().placed(), block.begin),
                       static_cast<unsigned short>(rewriter::kNoBlock), granules, stream) == 0;
}

bool is_in_windows(const rewriter::Block& block) noexcept {
  return table().covers(block.begin, block.end);
}

// Else the host may write it, too.
bool is_of_device(CUdeviceptr address) noexcept {
  unsigned type = 0, is_managed = 1;
  return core->settings.checks_written &&
         driver.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == 0 &&
         driver.pointer_attribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address) == 0 &&
         type == CU_MEMORYTYPE_DEVICE && is_managed == 0;
}

// What the driver gave out; `has_poison`: more than was asked for.
void add_ordered(CUdeviceptr address, std::size_t bytes, bool has_poison, CUmemoryPool pool,
                 CUstream stream) noexcept {
  Kept kept{{address, address + bytes}};
  kept.is_ordered = true;
  if (has_poison) kept.pool = reinterpret_cast<std::uint64_t>(pool);
  any_marked.store(true);
  if (has_poison && address % kGranule == 0 && is_in_windows(kept.block)) {
    kept.slot = take_slot();
    kept.is_in_table = put({kept.block, 1, true, kept.slot, rewriter::kPoisonEntry}, stream);
    if (!kept.is_in_table) give_slot(std::exchange(kept.slot, kNoSlot));
  }
  const Mark mark = unknown(address, address + (has_poison ? with_poison(bytes) : bytes));
  if (!kept.is_in_table && is_in_windows(mark.block)) put(mark, stream);
  keep_live(kept);
  forget_unwritten(address, with_poison(bytes));
  if (kept.is_in_table && !any_capture() && is_of_device(address)) follow_unwritten(kept.block);
}

// What is given out or freed in a stream that is not followed. Nothing of ours can be in the order
// of another device's stream. So marks of all pools say no more from now on, those that are queued
// in other streams, too.
void forget_ordered(CUdeviceptr address, std::size_t bytes, CUstream stream) noexcept {
  const Mark mark = unknown(address, address + bytes);
  forget_unwritten(address, bytes);
  if (!any_marked.load() || table().context() == nullptr || !is_in_windows(mark.block)) return;
  if (forget_in_order(mark.block, stream)) return;
  if (table().has_other_devices()) {
    distrust_pools();
    note_unchecked(
      "", "memory of pools counts as right from when streams of several devices use it", 0);
  }
  forget_range(address, bytes);
}

// `from(bytes)` is the driver's. No pool: the one that the device has now.
template <class From>
CUresult allocate_ordered(CUdeviceptr* address, std::size_t bytes, CUmemoryPool pool,
                          CUstream named, From from) noexcept {
  const std::optional<CUstream> stream = ordered(named);
  const bool is_usual = is_ordinary(address, bytes);
  bool has_poison = is_usual && stream;
  int result = with_resting_released([&] { return from(has_poison ? with_poison(bytes) : bytes); });
  if (has_poison && result == CUDA_ERROR_OUT_OF_MEMORY) { // without poison it may fit
    has_poison = false;
    result = from(bytes);
  }
  if (result != CUDA_SUCCESS || !is_usual) return static_cast<CUresult>(result);
  if (CUdevice device = 0; pool == nullptr && has_poison && driver.device(&device) == 0)
    driver.pool_of_device(&pool, device);
  if (stream) add_ordered(*address, bytes, has_poison, pool, *stream);
  else forget_ordered(*address, bytes, named);
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
std::optional<Kept> take_ordered(CUdeviceptr address, std::optional<CUstream> stream) noexcept {
  const std::optional<Kept> kept = stream ? find_live(address) : std::nullopt;
  return kept && kept->is_ordered ? take_live(address) : std::nullopt;
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
  const std::optional<CUstream> order = ordered(named);
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

// Gives an address out first; the memory's size is asked for.
template <Name kName, class... Args> struct Opens {
  static CUresult call(CUdeviceptr* pointer, Args... args) noexcept {
    const int result = own<kName, CUdeviceptr*, Args...>(pointer, args...);
    CUdeviceptr begin = 0;
    std::size_t bytes = 0;
    if (result == CUDA_SUCCESS && driver.address_range(&begin, &bytes, *pointer) == 0)
      forget_range(begin, bytes);
    return static_cast<CUresult>(result);
  }
};
template <Name kName, class... Args> void put_opens() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&Opens<kName, Args...>::call));
}

} // namespace

void note_ranges_to_forget() noexcept { any_marked.store(true); }

void forget_range(CUdeviceptr begin, std::size_t bytes) noexcept {
  forget_unwritten(begin, bytes);
  if (!any_marked.load() || table().context() == nullptr || bytes == 0) return;
  const rewriter::Block block{begin / kGranule * kGranule, begin + bytes};
  if (!is_in_windows(block)) return;
  const Work work(table().context());
  if (work.ready()) table().write_mapped(block);
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
  put_opens<"cuMemPoolImportPointer", CUmemoryPool, CUmemPoolPtrExportData*>();
  put_opens<"cuIpcOpenMemHandle_v2", CUipcMemHandle, unsigned>();
  put_opens<"cuExternalMemoryGetMappedBuffer", CUexternalMemory,
            const CUDA_EXTERNAL_MEMORY_BUFFER_DESC*>();
}

} // namespace gmt::interposer::kernel_checks
