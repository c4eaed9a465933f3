// SPDX-License-Identifier: Apache-2.0
// Tensor maps, mbarriers and bulk copies for the programs of this folder.
#pragma once

#include "recorded.h"

#include <cuda.h>

namespace tma {

struct Box {
  std::vector<u64> sizes;   // of the tensor, in elements, the innermost first
  std::vector<u64> strides; // in bytes, from the second dimension on
  std::vector<u32> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
};

inline CUtensorMap map_of(const void* memory, CUtensorMapDataType type, const Box& b) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault,
                                      &result));
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  const u32 steps[] = {1, 1, 1, 1, 1};
  static_assert(sizeof(cuuint64_t) == sizeof(u64));
  CUtensorMap map;
  const CUresult answer =
    encode(&map, type, static_cast<u32>(b.sizes.size()), const_cast<void*>(memory),
           reinterpret_cast<const cuuint64_t*>(b.sizes.data()),
           reinterpret_cast<const cuuint64_t*>(b.strides.data()), b.box.data(), steps,
           CU_TENSOR_MAP_INTERLEAVE_NONE, b.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (answer != CUDA_SUCCESS) {
    std::printf("cuTensorMapEncodeTiled: %d\n", answer);
    std::exit(1);
  }
  return map;
}

struct Gate {
  u64 word;
};
__device__ inline void open(Gate* gate, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(gate)), "r"(count)
               : "memory");
}
__device__ inline void made_visible() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
}
__device__ inline void expect(Gate* gate, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(gate)),
               "r"(bytes)
               : "memory");
}
__device__ inline void arrive(Gate* gate) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(gate)) : "memory");
}
__device__ inline void arrive_at(Gate* gate, u32 rank) {
  asm volatile(
    "{ .reg .b32 a; mapa.shared::cluster.u32 a, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a]; }" ::
      "r"(shared_address(gate)),
    "r"(rank)
    : "memory");
}
__device__ inline void wait(Gate* gate, u32 parity) {
  asm volatile(
    "{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W; }" ::
      "r"(shared_address(gate)),
    "r"(parity)
    : "memory");
}
__device__ inline void load_2d(void* to, const CUtensorMap* map, int x, int y, Gate* gate) {
  asm volatile(
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
      "r"(shared_address(to)),
    "l"(map), "r"(x), "r"(y), "r"(shared_address(gate))
    : "memory");
}
__device__ inline void load_2d_for(void* to, const CUtensorMap* map, int x, int y, Gate* gate,
                                   u16 blocks) {
  asm volatile(
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::
      "r"(shared_address(to)),
    "l"(map), "r"(x), "r"(y), "r"(shared_address(gate)), "h"(blocks)
    : "memory");
}
__device__ inline void load_3d(void* to, const CUtensorMap* map, int x, int y, int z, Gate* gate) {
  asm volatile(
    "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::
      "r"(shared_address(to)),
    "l"(map), "r"(x), "r"(y), "r"(z), "r"(shared_address(gate))
    : "memory");
}
__device__ inline void store_2d(const CUtensorMap* map, const void* from, int x, int y) {
  asm volatile(
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
    "r"(shared_address(from)), "r"(x), "r"(y)
    : "memory");
}
__device__ inline void add_2d(const CUtensorMap* map, const void* from, int x, int y) {
  asm volatile(
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::
      "l"(map),
    "r"(shared_address(from)), "r"(x), "r"(y)
    : "memory");
}
__device__ inline void load_bytes(void* to, const void* from, u32 bytes, Gate* gate) {
  asm volatile(
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
      shared_address(to)),
    "l"(from), "r"(bytes), "r"(shared_address(gate))
    : "memory");
}
__device__ inline void store_bytes(void* to, const void* from, u32 bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int left> __device__ void wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(left) : "memory");
}
__device__ inline void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void proxy_fence() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline u32 cluster_rank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline u32 cluster_size() {
  u32 size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  return size;
}
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

} // namespace tma
