// SPDX-License-Identifier: Apache-2.0
// The words of mbarriers and bulk copies, as PTX has them.
#pragma once

using u32 = unsigned;
using u64 = unsigned long long;

__device__ u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

__device__ void init(u64* object, u32 count)
{
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(object)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ void expect(u64* object, u32 bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(object)), "r"(bytes)
               : "memory");
}
__device__ void wait(u64* object, u32 parity)
{
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra W; }" ::"r"(
                 shared_address(object)),
               "r"(parity)
               : "memory");
}
__device__ void load_bulk(void* to, const void* from, u32 bytes, u64* object)
{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                 shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(object))
               : "memory");
}
__device__ void store_bulk(void* to, const void* from, u32 bytes)
{
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ void add_bulk(void* to, const void* from, u32 bytes)
{
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
__device__ void commit_bulk() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void wait_bulk() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ void wait_bulk_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ u32 in_rank(const void* p, u32 rank)
{
  u32 there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
  return there;
}
