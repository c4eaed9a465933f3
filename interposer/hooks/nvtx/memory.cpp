// SPDX-License-Identifier: Apache-2.0
// NVTX's memory extension: pools that say what they give out and take back. Each region becomes an
// allocation of kind kSubAllocation, its unregistering a release, with the call stacks of the
// program. A library that the user had named hears all of it after us, and its handles are the ones
// that the program gets. extension.cpp puts these handlers in. Interface: nvtx3/nvToolsExtMem.h.
#include "interposer/hooks/nvtx/extension.h"

#include <nvtx3/nvToolsExtMem.h>

#include "interposer/calls/call.h"
#include "interposer/kernel_checks/interface.h"
#include "interposer/kernel_checks/kernel_checks.h"
#include "trace/api_id.h"
#include "trace/object_class.h"

namespace gmt::interposer {

namespace {

using trace::Kind;

constexpr unsigned kMemoryCallbacks = 6; // the first ones of the extension
constinit NextHandler memory_handlers[kMemoryCallbacks] = {};
constinit std::atomic<std::uint64_t> last_heap{0};

struct Caller {
  const void* address;
  const void* frame;
};
#define GMT_CALLER (Caller{__builtin_return_address(0), __builtin_frame_address(0)})

template <class Function, unsigned Id> Function* next_of_memory() noexcept {
  return next_handler<Function*>(memory_handlers[Id]);
}

// Where a pool lies; no bytes: it does not say.
nvtxMemVirtualRangeDesc_t range_of(const nvtxMemHeapDesc_t& desc) noexcept {
  if (desc.type != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || desc.typeSpecificDesc == nullptr ||
      desc.typeSpecificDescSize < sizeof(nvtxMemVirtualRangeDesc_t))
    return {};
  return *static_cast<const nvtxMemVirtualRangeDesc_t*>(desc.typeSpecificDesc);
}

void record_heap(std::uint64_t heap, trace::LifeOp op, std::uint16_t api,
                 const nvtxMemHeapDesc_t* desc, Caller caller) noexcept {
  Record record;
  record.kind = Kind::kLife;
  record.droppable = false;
  record.use(trace::LifeWord::kCount);
  trace::LifeFields life(record);
  life.handle(heap).object(trace::ObjectClass::kUserHeap).op(op);
  if (desc != nullptr) {
    life.usage(desc->usage);
    const nvtxMemVirtualRangeDesc_t range = range_of(*desc);
    if (range.size != 0) life.address(handle_word(range.ptr)).bytes(range.size);
    const Name* name = keep_message(desc->messageType, desc->message);
    if (name != nullptr) life.name(record_text(name->text()));
  }
  record_call(record, api, caller.address, caller.frame);
}

void record_region(std::uint64_t address, std::uint64_t bytes, std::uint64_t heap,
                   std::uint16_t api, Caller caller) noexcept {
  Record record;
  record.kind = Kind::kAlloc;
  record.droppable = false;
  record.use(trace::AllocWord::kCount);
  trace::AllocFields(record)
    .address(address)
    .bytes(bytes)
    .memory_kind(trace::MemoryKind::kSubAllocation)
    .pool(heap);
  record_call(record, api, caller.address, caller.frame);
}

void record_release(std::uint64_t address, std::uint16_t api, Caller caller) noexcept {
  Record record;
  record.kind = Kind::kFree;
  record.droppable = false;
  record.use(trace::kFirstPayloadWords);
  trace::FreeFields(record).address(address).function(trace::FreeFunction::kRegionUnregister);
  record_call(record, api, caller.address, caller.frame);
}

// Elements may be larger than we know them, never smaller.
template <class Element> const Element* element(const void* first, std::size_t stride,
                                                std::size_t i) noexcept {
  return reinterpret_cast<const Element*>(static_cast<const char*>(first) + i * stride);
}

// ---- handlers

nvtxMemHeapHandle_t on_heap_register(nvtxDomainHandle_t domain,
                                     const nvtxMemHeapDesc_t* desc) noexcept {
  auto* f = next_of_memory<nvtxMemHeapHandle_t(nvtxDomainHandle_t, const nvtxMemHeapDesc_t*),
                           NVTX3EXT_CBID_nvtxMemHeapRegister>();
  nvtxMemHeapHandle_t heap = f != nullptr ? f(domain, desc) : nullptr;
  if (desc == nullptr || desc->structSize < sizeof(nvtxMemHeapDesc_t)) return heap;
  if (heap == nullptr) heap = reinterpret_cast<nvtxMemHeapHandle_t>(last_heap.fetch_add(1) + 1);
  record_heap(handle_word(heap), trace::LifeOp::kCreate, trace::kOther_nvtxMemHeapRegister, desc,
              GMT_CALLER);
  if (desc->usage == NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR) { // others have memory to use as it is
    const nvtxMemVirtualRangeDesc_t range = range_of(*desc);
    note_pool(handle_word(heap), handle_word(range.ptr), range.size);
  }
  return heap;
}

void on_heap_unregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap) noexcept {
  record_heap(handle_word(heap), trace::LifeOp::kDestroy, trace::kOther_nvtxMemHeapUnregister,
              nullptr, GMT_CALLER);
  note_end_of_pool(handle_word(heap));
  auto* f = next_of_memory<void(nvtxDomainHandle_t, nvtxMemHeapHandle_t),
                           NVTX3EXT_CBID_nvtxMemHeapUnregister>();
  if (f != nullptr) f(domain, heap);
}

void on_heap_reset(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap) noexcept {
  record_heap(handle_word(heap), trace::LifeOp::kReset, trace::kOther_nvtxMemHeapReset, nullptr,
              GMT_CALLER);
  note_reset_of_pool(handle_word(heap));
  auto* f =
    next_of_memory<void(nvtxDomainHandle_t, nvtxMemHeapHandle_t), NVTX3EXT_CBID_nvtxMemHeapReset>();
  if (f != nullptr) f(domain, heap);
}

void on_regions_register(nvtxDomainHandle_t domain,
                         const nvtxMemRegionsRegisterBatch_t* batch) noexcept {
  auto* f = next_of_memory<void(nvtxDomainHandle_t, const nvtxMemRegionsRegisterBatch_t*),
                           NVTX3EXT_CBID_nvtxMemRegionsRegister>();
  if (f != nullptr) f(domain, batch);
  if (batch == nullptr || batch->structSize < sizeof *batch ||
      batch->regionType != NVTX_MEM_TYPE_VIRTUAL_ADDRESS || batch->regionDescElements == nullptr ||
      batch->regionDescElementSize < sizeof(nvtxMemVirtualRangeDesc_t)) {
    return;
  }
  for (std::size_t i = 0; i < batch->regionCount; ++i) {
    const auto& range = *element<nvtxMemVirtualRangeDesc_t>(batch->regionDescElements,
                                                            batch->regionDescElementSize, i);
    record_region(handle_word(range.ptr), range.size, handle_word(batch->heap),
                  trace::kOther_nvtxMemRegionsRegister, GMT_CALLER);
    note_region_given_out(handle_word(batch->heap), handle_word(range.ptr), range.size);
    if (f == nullptr && batch->regionHandleElementsOut != nullptr) {
      batch->regionHandleElementsOut[i] =
        static_cast<nvtxMemRegionHandle_t>(const_cast<void*>(range.ptr));
    }
  }
}

// A region of another size is another allocation at the same address; its pool is found by the
// address.
void on_regions_resize(nvtxDomainHandle_t domain,
                       const nvtxMemRegionsResizeBatch_t* batch) noexcept {
  if (batch != nullptr && batch->structSize >= sizeof *batch &&
      batch->regionType == NVTX_MEM_TYPE_VIRTUAL_ADDRESS && batch->regionDescElements != nullptr &&
      batch->regionDescElementSize >= sizeof(nvtxMemVirtualRangeDesc_t)) {
    for (std::size_t i = 0; i < batch->regionDescCount; ++i) {
      const auto& range = *element<nvtxMemVirtualRangeDesc_t>(batch->regionDescElements,
                                                              batch->regionDescElementSize, i);
      record_release(handle_word(range.ptr), trace::kOther_nvtxMemRegionsResize, GMT_CALLER);
      record_region(handle_word(range.ptr), range.size, 0, trace::kOther_nvtxMemRegionsResize,
                    GMT_CALLER);
      note_region_given_out(kPoolOfRegion, handle_word(range.ptr), range.size);
    }
  }
  auto* f = next_of_memory<void(nvtxDomainHandle_t, const nvtxMemRegionsResizeBatch_t*),
                           NVTX3EXT_CBID_nvtxMemRegionsResize>();
  if (f != nullptr) f(domain, batch);
}

// Handles of regions are their addresses: ours are, and so the extension advises every tool.
void on_regions_unregister(nvtxDomainHandle_t domain,
                           const nvtxMemRegionsUnregisterBatch_t* batch) noexcept {
  if (batch != nullptr && batch->structSize >= sizeof *batch && batch->refElements != nullptr &&
      batch->refElementSize >= sizeof(nvtxMemRegionRef_t)) {
    for (std::size_t i = 0; i < batch->refCount; ++i) {
      const auto& region =
        *element<nvtxMemRegionRef_t>(batch->refElements, batch->refElementSize, i);
      record_release(handle_word(region.pointer), trace::kOther_nvtxMemRegionsUnregister,
                     GMT_CALLER);
      note_region_given_back(handle_word(region.pointer));
    }
  }
  auto* f = next_of_memory<void(nvtxDomainHandle_t, const nvtxMemRegionsUnregisterBatch_t*),
                           NVTX3EXT_CBID_nvtxMemRegionsUnregister>();
  if (f != nullptr) f(domain, batch);
}

#undef GMT_CALLER

void* const our_memory_handlers[kMemoryCallbacks] = {
  reinterpret_cast<void*>(&on_heap_register),  reinterpret_cast<void*>(&on_heap_unregister),
  reinterpret_cast<void*>(&on_heap_reset),     reinterpret_cast<void*>(&on_regions_register),
  reinterpret_cast<void*>(&on_regions_resize), reinterpret_cast<void*>(&on_regions_unregister),
};
static_assert(NVTX3EXT_CBID_nvtxMemHeapRegister == 0 &&
              NVTX3EXT_CBID_nvtxMemRegionsUnregister == kMemoryCallbacks - 1);

} // namespace

const NvtxExtension memory_extension = {NVTX_EXT_MODULEID_MEM, NVTX_EXT_COMPATID_MEM,
                                        NVTX_EXT_COMPATID_MEM, kMemoryCallbacks,
                                        our_memory_handlers,   memory_handlers};

} // namespace gmt::interposer
