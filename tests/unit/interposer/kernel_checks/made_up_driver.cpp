// SPDX-License-Identifier: Apache-2.0
// It is one file because it is one driver: its calls share the memory and the streams that they
// order.
#include "made_up_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <sys/mman.h>

#include "interposer/kernel_checks/library/blocks.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/heap_blocks.h"
#include "interposer/kernel_checks/library/lock.h"
#include "interposer/kernel_checks/library/mapped.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/peers.h"
#include "interposer/kernel_checks/library/replacements.h"
#include "interposer/kernel_checks/library/reports.h"
#include "interposer/kernel_checks/library/sampling.h"
#include "interposer/kernel_checks/library/written.h"
#include "made_up_linker.h"

namespace gmt::interposer::kernel_checks {

Reported reported;
bool is_out_of_memory = false;
std::uint64_t where_memory_is = 0;
bool are_streams_busy = false;
CUstream stream_that_captures = nullptr;
int device_count = 1;
int device_elsewhere = 0;
bool is_address_given = false;
std::map<std::pair<CUfunction, CUfunction_attribute>, int> attributes;
std::map<CUfunction, int> fitting;
float milliseconds_between = 0;
bool are_events_pending = false;
KernelChecksSettings settings;
const CUmodule module_of_all{reinterpret_cast<CUmodule>(0x3000)};     // NOLINT: handles
const CUfunction found_by_name{reinterpret_cast<CUfunction>(0x4000)}; // NOLINT
bool reads_pageable_memory = false;
bool has_registered_memory = false;
bool is_memory_hosts = false;
std::uint32_t* registered = nullptr;
bool has_faulted = false;
std::function<void()> while_fetching;
std::function<void(CUfunction)> while_launching;
std::pair<CUdeviceptr, std::size_t> range_of_memory;
CUdeviceptr opened_memory = 0;
const CUcontext other_context{reinterpret_cast<CUcontext>(0x1800)};  // NOLINT: a handle
const CUstream stream_elsewhere{reinterpret_cast<CUstream>(0x5800)}; // NOLINT: a handle

namespace {

const auto kContext = reinterpret_cast<CUcontext>(0x1000);
constexpr std::uint64_t kPool = 128 << 20;
struct Pool {
  std::byte* begin = nullptr;
  std::size_t used = 0;
};
std::map<std::uint64_t, Pool> pools; // by where they are

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); } // NOLINT

std::vector<CUcontext> contexts{kContext}; // the last one is current
int current(CUcontext* context) {
  *context = contexts.back();
  return 0;
}
int push(CUcontext context) {
  contexts.push_back(context);
  return 0;
}
int pop(CUcontext* context) {
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
int exchange_mode(CUstreamCaptureMode* given) {
  std::swap(mode, *given);
  return 0;
}
int device(CUdevice* ordinal) {
  *ordinal = contexts.back() == other_context ? device_elsewhere : 0;
  return 0;
}
int count_devices(int* count) {
  *count = device_count;
  return 0;
}
int device_attribute(int* value, CUdevice_attribute what, CUdevice) {
  *value = what == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS && reads_pageable_memory ? 1 : 0;
  return 0;
}
int total(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{2} << 30;
  return 0;
}
int limit(std::size_t* bytes, CUlimit) {
  *bytes = std::size_t{8} << 20; // of malloc in kernels
  return 0;
}
template <class... Args> int done(Args...) { return 0; }
int no_primary(CUdevice, unsigned*, int* is_there) {
  *is_there = 0;
  return 0;
}
int make_stream(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(0x2000);
  return 0;
}
int wait(CUstream stream) {
  if (stream != reinterpret_cast<CUstream>(0x2000)) reported.waited.push_back(stream);
  else ++reported.table_waits;
  return 0;
}
int query(CUstream) {
  reported.asked_in.push_back(mode);
  return are_streams_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
std::vector<std::function<void()>> waiting; // in streams of the program
void run_or_wait(CUstream stream, const std::function<void()>& work) {
  if (are_streams_busy && stream != reinterpret_cast<CUstream>(0x2000)) waiting.push_back(work);
  else work();
}
int set_16(CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream) {
  reported.largest_set = std::max(reported.largest_set, count);
  run_or_wait(stream, [=] {
    auto* words = static_cast<unsigned short*>(at(to));
    std::fill(words, words + count, value);
  });
  return 0;
}
int set_8(CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
  std::memset(at(to), value, count);
  return 0;
}
int set_rows(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t bytes,
             std::size_t rows, CUstream) {
  for (std::size_t i = 0; i < rows; ++i) std::memset(at(to + i * pitch), value, bytes);
  return 0;
}
int pointer_attribute(void* value, CUpointer_attribute what, CUdeviceptr) {
  if (what == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
    *static_cast<unsigned*>(value) = is_memory_hosts ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  else *static_cast<unsigned*>(value) = 0;
  return 0;
}
int send(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(at(to), from, bytes);
  return 0;
}
int fetch(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  if (has_faulted) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (const auto called = while_fetching) called();
  std::memcpy(to, at(from), bytes);
  return 0;
}
void* pages(std::size_t bytes, std::uint64_t address = 0) {
  return mmap(at(address), bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
int allocate(CUdeviceptr* address, std::size_t bytes) {
  Pool& pool = pools[where_memory_is];
  if (pool.begin == nullptr) pool.begin = static_cast<std::byte*>(pages(kPool, where_memory_is));
  if (is_out_of_memory || pool.used + bytes > kPool) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(pool.begin + pool.used);
  pool.used += (bytes + 511) / 512 * 512;
  ++reported.allocations;
  return 0;
}
int allocate_managed(CUdeviceptr* address, std::size_t bytes, unsigned) {
  return allocate(address, bytes);
}
int allocate_pitched(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                     std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(address, *pitch * height);
}
struct Used {
  std::map<std::uint64_t, std::uint64_t> blocks;
  std::uint64_t now = 0, most = 0;
};
Used used_of_pool;
int allocate_ordered(CUdeviceptr* address, std::size_t bytes, CUstream) {
  const int result = allocate(address, bytes);
  if (result != 0) return result;
  used_of_pool.blocks[*address] = (bytes + 511) / 512 * 512;
  used_of_pool.now += used_of_pool.blocks[*address];
  used_of_pool.most = std::max(used_of_pool.most, used_of_pool.now);
  return 0;
}
int pool_of_device(CUmemoryPool* pool, CUdevice) {
  *pool = reinterpret_cast<CUmemoryPool>(0x7000);
  return 0;
}
int pool_attribute(CUmemoryPool, CUmemPool_attribute what, void* value) {
  *static_cast<cuuint64_t*>(value) =
    what == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? used_of_pool.most : used_of_pool.now;
  return 0;
}
int set_pool_attribute(CUmemoryPool, CUmemPool_attribute, void*) {
  used_of_pool.most = used_of_pool.now;
  return 0;
}
int give_back(CUdeviceptr address) {
  reported.freed.push_back(address);
  is_out_of_memory = false;
  return 0;
}
int free_ordered(CUdeviceptr address, CUstream stream) {
  if (stream != nullptr) used_of_pool.now -= used_of_pool.blocks[address];
  return stream == nullptr ? CUDA_ERROR_INVALID_VALUE : give_back(address);
}
int stream_context(CUstream stream, CUcontext* context) {
  *context = stream == stream_elsewhere ? other_context : contexts.back();
  return 0;
}
int capture_status(CUstream stream, CUstreamCaptureStatus* status) {
  *status = stream == stream_that_captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                           : CU_STREAM_CAPTURE_STATUS_NONE;
  return 0;
}

int register_host(void* memory, std::size_t, unsigned) {
  if (!has_registered_memory) return CUDA_ERROR_NOT_SUPPORTED;
  registered = static_cast<std::uint32_t*>(memory);
  return 0;
}
int address_on_device(CUdeviceptr* address, void* memory, unsigned) {
  *address = reinterpret_cast<CUdeviceptr>(memory);
  return 0;
}

// ---- the kernel of marks

int load_module(CUmodule* module, const void*) {
  *module = module_of_all;
  return 0;
}
int function_of(CUfunction* function, CUmodule, const char*) {
  *function = found_by_name;
  return 0;
}
int name_of(const char** name, CUfunction) {
  *name = "k";
  return 0;
}
int module_of(CUmodule* module, CUfunction) {
  *module = module_of_all;
  return 0;
}
int make_event(CUevent* event, unsigned) {
  static std::uint64_t handle = 0xa000;
  *event = reinterpret_cast<CUevent>(handle += 16); // NOLINT: a handle
  return 0;
}
int query_event(CUevent) { return are_events_pending ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
int time_between(float* milliseconds, CUevent, CUevent) {
  *milliseconds = milliseconds_between;
  return 0;
}
int blocks_that_fit(int* blocks, CUfunction function, int, std::size_t) {
  *blocks = fitting[function];
  return 0;
}
int best_block(int* grid, int* block, CUfunction function, CUoccupancyB2DSize, std::size_t, int) {
  *grid = 10 * fitting[function];
  *block = fitting[function];
  return 0;
}
int attribute(int* value, CUfunction_attribute what, CUfunction function) {
  *value = attributes[{function, what}];
  return 0;
}
int set_attribute(CUfunction function, CUfunction_attribute what, int value) {
  attributes[{function, what}] = value;
  return 0;
}
struct MarkArguments {
  std::uint64_t first, count;
  std::int64_t bytes;
  std::int32_t full, behind;
  std::uint64_t slot, begin, distrust;
};
void mark(const MarkArguments& given) {
  const rewriter::Block block{given.begin, given.begin + static_cast<std::uint64_t>(given.bytes)};
  std::uint32_t is_distrusted = 0;
  if (given.distrust != 0) std::memcpy(&is_distrusted, at(given.distrust), sizeof is_distrusted);
  if (given.slot != 0) std::memcpy(at(given.slot), &block, sizeof block);
  for (std::uint64_t i = 0; i < given.count; ++i) {
    const std::int64_t rest = given.bytes - static_cast<std::int64_t>(i) * 512;
    const std::int64_t entry = is_distrusted  ? rewriter::kNoBlock
                               : rest >= 1024 ? given.full
                               : rest > 0     ? std::min<std::int64_t>(rest, 512)
                                              : given.behind;
    static_cast<std::int16_t*>(at(given.first))[i] = static_cast<std::int16_t>(entry);
  }
}
int launch(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
           unsigned, CUstream stream, void** arguments, void**) {
  if (while_launching && function != found_by_name) {
    while_launching(function);
    return 0;
  }
  MarkArguments given{};
  std::memcpy(&given.first, arguments[0], 8);
  std::memcpy(&given.count, arguments[1], 8);
  std::memcpy(&given.bytes, arguments[2], 8);
  std::memcpy(&given.full, arguments[3], 4);
  std::memcpy(&given.behind, arguments[4], 4);
  std::memcpy(&given.slot, arguments[5], 8);
  std::memcpy(&given.begin, arguments[6], 8);
  std::memcpy(&given.distrust, arguments[7], 8);
  run_or_wait(stream, [given] { mark(given); });
  return 0;
}
void go_on() {
  are_streams_busy = false;
  for (const auto& work : waiting) work();
  waiting.clear();
}

int reserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr wanted,
            unsigned long long) {
  *address = is_address_given ? wanted : reinterpret_cast<CUdeviceptr>(pages(bytes)); // never given
                                                                                      // back: one a
                                                                                      // process
  return 0;
}
int create(CUmemGenericAllocationHandle* handle, std::size_t, const CUmemAllocationProp*,
           unsigned long long) {
  *handle = 1;
  return is_out_of_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
int unmap(CUdeviceptr, std::size_t bytes) { return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : 0; }
int address_range(CUdeviceptr* begin, std::size_t* bytes, CUdeviceptr) {
  if (begin != nullptr) *begin = range_of_memory.first;
  if (bytes != nullptr) *bytes = range_of_memory.second;
  return 0;
}
int open_memory(CUdeviceptr* address, CUipcMemHandle, unsigned) {
  *address = opened_memory;
  return 0;
}
int granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = 4096;
  return 0;
}

int name_of_device(char* name, int size, CUdevice) {
  std::snprintf(name, static_cast<std::size_t>(size), "made up");
  return 0;
}
int version(int* number) {
  *number = 13000;
  return 0;
}

void* symbol(const char* name) noexcept {
  static const std::map<std::string_view, void*> all = {
    {"cuCtxGetCurrent", reinterpret_cast<void*>(current)},
    {"cuCtxPushCurrent_v2", reinterpret_cast<void*>(push)},
    {"cuCtxPopCurrent_v2", reinterpret_cast<void*>(pop)},
    {"cuThreadExchangeStreamCaptureMode", reinterpret_cast<void*>(exchange_mode)},
    {"cuCtxGetDevice", reinterpret_cast<void*>(device)},
    {"cuDeviceGetCount", reinterpret_cast<void*>(count_devices)},
    {"cuDeviceGetName", reinterpret_cast<void*>(name_of_device)},
    {"cuDriverGetVersion", reinterpret_cast<void*>(version)},
    {"cuDeviceGetAttribute", reinterpret_cast<void*>(device_attribute)},
    {"cuDeviceTotalMem_v2", reinterpret_cast<void*>(total)},
    {"cuCtxGetLimit", reinterpret_cast<void*>(limit)},
    {"cuCtxSynchronize", reinterpret_cast<void*>(done<>)},
    {"cuCtxDestroy_v2", reinterpret_cast<void*>(done<CUcontext>)},
    {"cuCtxEnablePeerAccess", reinterpret_cast<void*>(done<CUcontext, unsigned>)},
    {"cuCtxDisablePeerAccess", reinterpret_cast<void*>(done<CUcontext>)},
    {"cuMemGetAddressRange_v2", reinterpret_cast<void*>(address_range)},
    {"cuIpcOpenMemHandle_v2", reinterpret_cast<void*>(open_memory)},
    {"cuIpcCloseMemHandle", reinterpret_cast<void*>(done<CUdeviceptr>)},
    {"cuDevicePrimaryCtxGetState", reinterpret_cast<void*>(no_primary)},
    {"cuStreamCreate", reinterpret_cast<void*>(make_stream)},
    {"cuStreamSynchronize", reinterpret_cast<void*>(wait)},
    {"cuStreamQuery", reinterpret_cast<void*>(query)},
    {"cuMemsetD16Async", reinterpret_cast<void*>(set_16)},
    {"cuMemsetD8Async", reinterpret_cast<void*>(set_8)},
    {"cuMemsetD2D8Async", reinterpret_cast<void*>(set_rows)},
    {"cuMemsetD2D8_v2", reinterpret_cast<void*>(
                          done<CUdeviceptr, std::size_t, unsigned char, std::size_t, std::size_t>)},
    {"cuPointerGetAttribute", reinterpret_cast<void*>(pointer_attribute)},
    {"cuMemcpyHtoDAsync_v2", reinterpret_cast<void*>(send)},
    {"cuMemcpyHtoD_v2", reinterpret_cast<void*>(done<CUdeviceptr, const void*, std::size_t>)},
    {"cuMemsetD32_v2", reinterpret_cast<void*>(done<CUdeviceptr, unsigned, std::size_t>)},
    {"cuMemcpy2D_v2", reinterpret_cast<void*>(done<const CUDA_MEMCPY2D*>)},
    {"cuIpcGetMemHandle", reinterpret_cast<void*>(done<CUipcMemHandle*, CUdeviceptr>)},
    {"cuStreamBatchMemOp_v2",
     reinterpret_cast<void*>(done<CUstream, unsigned, CUstreamBatchMemOpParams*, unsigned>)},
    {"cuMemcpyDtoHAsync_v2", reinterpret_cast<void*>(fetch)},
    {"cuMemAlloc_v2", reinterpret_cast<void*>(allocate)},
    {"cuMemAllocManaged", reinterpret_cast<void*>(allocate_managed)},
    {"cuMemAllocPitch_v2", reinterpret_cast<void*>(allocate_pitched)},
    {"cuMemFree_v2", reinterpret_cast<void*>(give_back)},
    {"cuMemHostRegister_v2", reinterpret_cast<void*>(register_host)},
    {"cuMemHostGetDevicePointer_v2", reinterpret_cast<void*>(address_on_device)},
    {"cuMemAllocAsync", reinterpret_cast<void*>(allocate_ordered)},
    {"cuMemFreeAsync", reinterpret_cast<void*>(free_ordered)},
    {"cuDeviceGetMemPool", reinterpret_cast<void*>(pool_of_device)},
    {"cuMemPoolGetAttribute", reinterpret_cast<void*>(pool_attribute)},
    {"cuMemPoolSetAttribute", reinterpret_cast<void*>(set_pool_attribute)},
    {"cuStreamGetCtx", reinterpret_cast<void*>(stream_context)},
    {"cuStreamIsCapturing", reinterpret_cast<void*>(capture_status)},
    {"cuModuleLoadData", reinterpret_cast<void*>(load_module)},
    {"cuModuleGetFunction", reinterpret_cast<void*>(function_of)},
    {"cuModuleGetGlobal_v2",
     reinterpret_cast<void*>(done<CUdeviceptr*, std::size_t*, CUmodule, const char*>)},
    {"cuEventCreate", reinterpret_cast<void*>(make_event)},
    {"cuEventRecord", reinterpret_cast<void*>(done<CUevent, CUstream>)},
    {"cuEventQuery", reinterpret_cast<void*>(query_event)},
    {"cuEventElapsedTime", reinterpret_cast<void*>(time_between)},
    {"cuFuncGetName", reinterpret_cast<void*>(name_of)},
    {"cuFuncGetModule", reinterpret_cast<void*>(module_of)},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", reinterpret_cast<void*>(blocks_that_fit)},
    {"cuOccupancyMaxPotentialBlockSize", reinterpret_cast<void*>(best_block)},
    {"cuFuncGetAttribute", reinterpret_cast<void*>(attribute)},
    {"cuFuncSetAttribute", reinterpret_cast<void*>(set_attribute)},
    {"cuLaunchKernel", reinterpret_cast<void*>(launch)},
    {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
    {"cuMemCreate", reinterpret_cast<void*>(create)},
    {"cuMemAddressFree", reinterpret_cast<void*>(done<CUdeviceptr, std::size_t>)},
    {"cuMemUnmap", reinterpret_cast<void*>(unmap)},
    {"cuMemHostUnregister", reinterpret_cast<void*>(done<void*>)},
    {"cuMemRelease", reinterpret_cast<void*>(done<CUmemGenericAllocationHandle>)},
    {"cuMemMap", reinterpret_cast<void*>(done<CUdeviceptr, std::size_t, std::size_t,
                                              CUmemGenericAllocationHandle, unsigned long long>)},
    {"cuMemSetAccess",
     reinterpret_cast<void*>(done<CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t>)},
    {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(granularity)},
  };
  const auto found = all.find(name);
  return found != all.end() ? found->second : function_of_linker(name);
}

void found(const trace::ExecutionFault* f) noexcept {
  reported.faults.push_back(
    {f->kind, f->launch.call, f->launch.grid_id, f->address, f->count, f->location.thread[0],
     f->launch.kernel, f->neighbour.begin, f->neighbour.bytes,
     f->neighbour.name == nullptr ? "" : f->neighbour.name, f->space, f->location.instruction});
}
void unchecked(const char* kernel, const char* reason, std::uint64_t launches) noexcept {
  reported.plain.push_back({kernel, reason, launches});
}

std::map<std::string_view, void*> replaced;
bool put(const char* name, void* function) noexcept {
  replaced[name] = function;
  return true;
}

void note_for_command(const char*, const char*) noexcept {}
bool is_in_range(const char*) noexcept { return false; }

KernelChecksCore own_core{symbol,      put,        [] { return std::uint64_t{1}; },
                          found,       unchecked,  note_for_command,
                          is_in_range, [] {},      {},
                          {},          [](bool) {}};

void begin() {
  own_core.settings = settings;
  core = &own_core;
  for (auto& [where, pool] : pools) pool.used = 0;
  where_memory_is = 0;
  is_out_of_memory = false;
  device_count = 1;
  device_elsewhere = 0;
  are_streams_busy = false;
  waiting.clear();
  used_of_pool = {};
  stream_that_captures = nullptr;
  attributes.clear();
  captures.store(0);
  has_faulted = false;
  while_fetching = nullptr;
  reads_pageable_memory = false;
  has_registered_memory = false;
  is_memory_hosts = false;
  registered = nullptr;
  leave_tables();
  forget_all_blocks();
  forget_reports();
  forget_written();
  abandon_mapped();
  abandon_opened();
  abandon_peers();
  abandon_heap();
  abandon_code();
  replace_memory();
  replace_pools();
  replace_mapped();
  replace_shared_memory();
  replace_peers();
  replace_writes();
  replace_attributes();
  fitting.clear();
  are_events_pending = false;
  forget_samples();
  reported = {};
}

void give_out_at(std::uint64_t address) {
  Pool& pool = pools[where_memory_is];
  pool.used = address - reinterpret_cast<std::uint64_t>(pool.begin);
}
void* replacement(const char* name) { return replaced.at(name); }
std::set<std::string> names_of_replaced() {
  std::set<std::string> names;
  for (const auto& [name, function] : replaced) names.emplace(name);
  return names;
}

std::int16_t entry(std::uint64_t address) {
  std::int16_t value = 0;
  std::memcpy(&value, at(rewriter::entry_address(table().placed(), address)), sizeof value);
  return value;
}

rewriter::Block bounds(std::uint64_t address) {
  rewriter::Block block;
  const auto slot = static_cast<std::uint32_t>(entry(address) - rewriter::kFirstBlock);
  std::memcpy(&block, at(rewriter::slot_address(table().placed(), slot)), sizeof block);
  return block;
}

} // namespace

const std::function<void()> begin_made_up_driver = begin;
const std::function<void()> let_streams_go_on = go_on;
const std::function<void(std::uint64_t address)> begin_again_at = give_out_at;
const std::function<std::set<std::string>()> replaced_names = names_of_replaced;
const std::function<void*(const char* name)> replacement_of = replacement;
const std::function<std::int16_t(std::uint64_t address)> entry_at = entry;
const std::function<rewriter::Block(std::uint64_t address)> bounds_at = bounds;

} // namespace gmt::interposer::kernel_checks
