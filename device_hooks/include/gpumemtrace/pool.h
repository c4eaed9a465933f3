/* SPDX-License-Identifier: Apache-2.0
 * Macros for memory pools that say nothing to NVTX yet: what a pool gives out is then a block of
 * its own, with the call stack of who took it. Three lines in a pool are enough:
 *
 *   GPUMEMTRACE_POOL_CREATE(pool, base, bytes);      the pool has the memory [base, base + bytes)
 *   GPUMEMTRACE_POOL_TAKE(pool, address, bytes);     it gives out a piece of it
 *   GPUMEMTRACE_POOL_GIVE_BACK(address);             the piece has come back
 *
 * and GPUMEMTRACE_POOL_DESTROY(pool) where it ends before its memory is freed. `pool` names a
 * variable of the type gpumemtrace_pool, which the first line sets. Addresses are of the device or
 * of the host, sizes in bytes. C and C++.
 *
 * The macros call NVTX's memory extension (nvtx3/nvToolsExtMem.h of the CUDA toolkit, 11.8 or
 * newer): without a tool that listens each is a test of one pointer, and other tools hear the same.
 * With GPUMEMTRACE_POOL_DISABLE defined they are nothing.
 */
#ifndef GPUMEMTRACE_POOL_H
#define GPUMEMTRACE_POOL_H

#include <stddef.h>

#ifdef GPUMEMTRACE_POOL_DISABLE

typedef int gpumemtrace_pool;
#define GPUMEMTRACE_POOL_CREATE(pool, base, bytes) ((pool) = 0, (void)(base), (void)(bytes))
#define GPUMEMTRACE_POOL_TAKE(pool, address, bytes) ((void)(pool), (void)(address), (void)(bytes))
#define GPUMEMTRACE_POOL_GIVE_BACK(address) ((void)(address))
#define GPUMEMTRACE_POOL_DESTROY(pool) ((void)(pool))

#else

#include <nvtx3/nvToolsExtMem.h>
#include <string.h>

typedef nvtxMemHeapHandle_t gpumemtrace_pool;

#define GPUMEMTRACE_POOL_CREATE(pool, base, bytes)                                                 \
  ((pool) = gpumemtrace_pool_create((base), (bytes)))
#define GPUMEMTRACE_POOL_TAKE(pool, address, bytes)                                                \
  gpumemtrace_pool_take((pool), (address), (bytes))
#define GPUMEMTRACE_POOL_GIVE_BACK(address) gpumemtrace_pool_give_back(address)
#define GPUMEMTRACE_POOL_DESTROY(pool) nvtxMemHeapUnregister(NULL, (pool))

/* In the caller's own function, whose frame is the first of the stack. */
#define GPUMEMTRACE_INLINE static inline __attribute__((always_inline, unused))

GPUMEMTRACE_INLINE gpumemtrace_pool gpumemtrace_pool_create(const void* base, size_t bytes) {
  nvtxMemVirtualRangeDesc_t range;
  nvtxMemHeapDesc_t pool;
  memset(&range, 0, sizeof range);
  memset(&pool, 0, sizeof pool);
  range.size = bytes;
  range.ptr = base;
  pool.extCompatID = NVTX_EXT_COMPATID_MEM;
  pool.structSize = sizeof pool;
  pool.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  pool.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  pool.typeSpecificDescSize = sizeof range;
  pool.typeSpecificDesc = &range;
  return nvtxMemHeapRegister(NULL, &pool);
}

GPUMEMTRACE_INLINE void gpumemtrace_pool_take(gpumemtrace_pool pool, const void* address,
                                              size_t bytes) {
  nvtxMemVirtualRangeDesc_t range;
  nvtxMemRegionHandle_t handle = NULL;
  nvtxMemRegionsRegisterBatch_t batch;
  memset(&range, 0, sizeof range);
  memset(&batch, 0, sizeof batch);
  range.size = bytes;
  range.ptr = address;
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = pool;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof range;
  batch.regionDescElements = &range;
  batch.regionHandleElementsOut = &handle;
  nvtxMemRegionsRegister(NULL, &batch);
}

GPUMEMTRACE_INLINE void gpumemtrace_pool_give_back(const void* address) {
  nvtxMemRegionRef_t region;
  nvtxMemRegionsUnregisterBatch_t batch;
  memset(&region, 0, sizeof region);
  memset(&batch, 0, sizeof batch);
  region.pointer = address;
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof region;
  batch.refElements = &region;
  nvtxMemRegionsUnregister(NULL, &batch);
}

#undef GPUMEMTRACE_INLINE

#endif

#endif
