// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies and products, mbarriers and clusters, each as a kernel with its right twin. The right ones give the results that
// a host computes and are silent in several orders.
// It is one file because it is one list: a kernel of each kind, its twin, and the finding that it must have.
//
// compute capability: 90a
// run: wrong
// unlike-fenced: what lies past a fence ends the kernel
// device: simulated
// expect: error shared-race line=LINE(tile) message="has not been waited for"
// expect: error shared-race line=LINE(pipeline) message="has not been waited for"
// expect: error shared-race line=LINE(group) message="has not been waited for"
// expect: error shared-race line=LINE(arrival) message="has not been waited for"
// expect: error shared-race line=LINE(overwritten)
// expect: error global-race line=LINE(source)
// expect: error shared-race line=LINE(bulk) message="has not been waited for"
// expect: warning shared-race line=LINE(bulk) message="fence.proxy.async"
// expect: warning shared-race line=LINE(bulk) message="fence.proxy.async"
// expect: error shared-race line=LINE(reused) message="has not been waited for"
// expect: error kernel-out-of-bounds line=LINE(load_bulk)
// expect: error shared-race line=LINE(neighbour)
// expect: error shared-race line=LINE(flags)
// expect: error kernel-use-after-free line=LINE(ended)
// expect: error kernel-out-of-bounds line=LINE(rank) message="rank 5"
// expect: warning kernel-fault line=LINE(product) message="before its warp has executed any wgmma.fence"
// expect: warning kernel-fault line=LINE(scaled) message="what it has put into registers since its last wgmma.fence"
// expect: warning kernel-fault line=LINE(alone) message="at which the thread has not arrived"
// not-checked: leak
// run: hang
// device: simulated
// expect: error kernel-hang message="16 bytes"
// not-checked: leak
// run: right
// expect: clean
// run: right seeded
// device: simulated
// options: --device-seed 3
// expect: clean
#include "answers.h"
#include "async_words.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr u32 kThreads = 128;

// Tiles of a reversed copy, two in flight.
template <bool kRight> __global__ void tiles(const u32* in, u32* out)
{
  __shared__ u32 tile[2][kThreads];
  const u32 t = threadIdx.x, n = kRight ? 4 : 1;
  __pipeline_memcpy_async(&tile[0][t], &in[t], 4);
  __pipeline_commit();
  for (u32 i = 0; i < n; ++i) {
    if (i + 1 < n) __pipeline_memcpy_async(&tile[(i + 1) % 2][t], &in[(i + 1) * kThreads + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(kRight ? 1 : 2);
    __syncthreads();
    out[i * kThreads + t] = tile[i % 2][kThreads - 1 - t]; // @tile
    __syncthreads();
  }
}

// Two stages of a pipeline of the library.
template <bool kRight> __global__ void pipelined(const u32* in, u32* out)
{
  __shared__ alignas(16) u32 tile[2][kThreads];
  auto pipe = cuda::make_pipeline();
  const u32 t = threadIdx.x;
  for (u32 i = 0; i < 2; ++i) {
    pipe.producer_acquire();
    cuda::memcpy_async(&tile[i][t], &in[i * kThreads + t], sizeof(u32), pipe);
    pipe.producer_commit();
  }
  for (u32 i = 0; i < 2; ++i) {
    if (kRight) pipe.consumer_wait();
    __syncthreads();
    out[i * kThreads + t] = tile[i][t ^ 1] + i; // @pipeline
    __syncthreads();
    if (kRight) pipe.consumer_release();
  }
}

template <bool kRight> __global__ void by_group(const u32* in, u32* out)
{
  __shared__ alignas(16) u32 tile[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof tile);
  if (kRight) cg::wait(block);
  else block.sync();
  out[threadIdx.x] = 3 * tile[kThreads - 1 - threadIdx.x]; // @group
}

template <bool kRight> __global__ void by_barrier(const u32* in, u32* out)
{
  __shared__ alignas(16) u32 tile[kThreads];
  __shared__ Barrier barrier;
  if (threadIdx.x == 0) init(&barrier, kThreads);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(u32), barrier);
  Barrier::arrival_token token = barrier.arrive();
  if (kRight) barrier.wait(std::move(token));
  out[threadIdx.x] = tile[threadIdx.x] + 7; // @arrival
}

// Bytes that the source lacks are zero.
__global__ void filled(const u32* in, u32* out)
{
  __shared__ alignas(16) u32 tile[4 * kThreads];
  const u32 t = threadIdx.x, bytes = t % 17;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(&tile[4 * t])), "l"(in + 4 * t), "r"(bytes)
               : "memory");
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[t] = tile[4 * t] ^ tile[4 * t + 1] ^ tile[4 * t + 2] ^ tile[4 * t + 3];
}

__global__ void overwritten(const u32* in, u32* out)
{
  __shared__ u32 tile[kThreads];
  const u32 t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  const u32 before = tile[kThreads - 1 - t];
  __pipeline_memcpy_async(&tile[t], &in[t], 4); // @overwritten
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = tile[t] + before;
}

__global__ void source_changed(u32* in, u32* out)
{
  __shared__ u32 tile[kThreads];
  const u32 t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &in[t], 4);
  __pipeline_commit();
  in[t] = 0; // @source
  __pipeline_wait_prior(0);
  out[t] = tile[t];
}

// A bulk copy in, one out, and a sum in place.
enum class Bulk { kRight, kNoWait, kNoFence, kReused, kBeyond, kTooFew };
template <Bulk kWhat> __global__ void bulk(const u32* in, u32* out, u32* sums)
{
  __shared__ alignas(128) u32 tile[kThreads];
  __shared__ alignas(128) u32 result[kThreads];
  __shared__ alignas(8) u64 object;
  const u32 t = threadIdx.x;
  if (t == 0) init(&object, 1);
  __syncthreads();
  if (t == 0) {
    expect(&object, kWhat == Bulk::kTooFew ? sizeof tile + 16 : sizeof tile);
    load_bulk(tile, in + (kWhat == Bulk::kBeyond ? 1024 : 0), sizeof tile, &object); // @load_bulk
  }
  if (kWhat == Bulk::kBeyond) return;
  if (kWhat != Bulk::kNoWait) wait(&object, 0);
  result[t] = 2 * tile[kThreads - 1 - t]; // @bulk
  if (kWhat != Bulk::kNoFence) fence_proxy();
  __syncthreads();
  if (t == 0) {
    store_bulk(out, result, sizeof result);
    add_bulk(sums, result, sizeof result);
    commit_bulk();
    if (kWhat != Bulk::kReused) wait_bulk_read();
  }
  __syncthreads();
  result[t] = 0; // @reused
  if (t == 0) wait_bulk();
}

// Stages that one warp fills and three others use, in turns.
__global__ void ring(const u32* in, u32* out)
{
  constexpr u32 kStages = 3, kRounds = 8, kUsers = 96;
  __shared__ alignas(128) u32 stage[kStages][kUsers];
  __shared__ alignas(8) u64 full[kStages], empty[kStages];
  const u32 t = threadIdx.x;
  if (t == 0) {
    for (u32 i = 0; i < kStages; ++i) {
      init(&full[i], 1);
      init(&empty[i], kUsers);
    }
  }
  __syncthreads();
  if (t >= kUsers) {
    for (u32 i = 0; i < kRounds && t == kUsers; ++i) {
      const u32 s = i % kStages;
      wait(&empty[s], (i / kStages & 1) ^ 1);
      expect(&full[s], sizeof stage[s]);
      load_bulk(stage[s], in + i * kUsers, sizeof stage[s], &full[s]);
    }
    return;
  }
  u32 sum = 0;
  for (u32 i = 0; i < kRounds; ++i) {
    const u32 s = i % kStages;
    wait(&full[s], i / kStages & 1);
    sum += (i + 1) * stage[s][kUsers - 1 - t];
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&empty[s])) : "memory");
  }
  out[t] = sum;
}

// A block stores a number into the memory of the other one of its cluster, and then a flag that this one polls.
template <bool kReleases> __global__ void __cluster_dims__(2, 1, 1) flags(u32* out)
{
  __shared__ u32 number, flag;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) flag = 0;
  cluster.sync();
  cuda::atomic_ref<u32, cuda::thread_scope_device> raised(*cluster.map_shared_rank(&flag, 1));
  if (threadIdx.x == 0 && cluster.block_rank() == 0) {
    *cluster.map_shared_rank(&number, 1) = 7;
    raised.store(1, kReleases ? cuda::std::memory_order_release : cuda::std::memory_order_relaxed);
  } else if (threadIdx.x == 0) {
    while (raised.load(cuda::std::memory_order_acquire) == 0) {}
    *out = number; // @flags
  }
  cluster.sync();
}

// Each block of a cluster reads what the next one has stored.
enum class Near { kRight, kNoSync, kNoEnd, kRank };
template <Near kWhat> __global__ void __cluster_dims__(2, 1, 1) neighbours(const u32* in, u32* out)
{
  __shared__ u32 tile[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x, rank = cluster.block_rank();
  tile[t] = in[t] + rank;
  if (kWhat != Near::kNoSync) cluster.sync();
  if (kWhat == Near::kRank) {
    u32 value;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(in_rank(&tile[t], 5)) : "memory"); // @rank
    out[t] = value;
  } else if (kWhat == Near::kNoEnd) {
    const u32* there = cluster.map_shared_rank(tile, rank ^ 1);
    if (rank == 0) out[t] = there[t]; // @ended
  } else {
    const u32* there = cluster.map_shared_rank(tile, rank ^ 1);
    out[blockIdx.x * kThreads + t] = there[kThreads - 1 - t]; // @neighbour
    cluster.sync();
  }
}

// Bins of a histogram that lie in four blocks; then a value goes round by st.async.
__global__ void bins(const u32* in, u32* out)
{
  __shared__ u32 bin[32];
  __shared__ alignas(16) u32 given[4];
  __shared__ alignas(8) u64 object;
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x, rank = cluster.block_rank();
  if (t < 32) bin[t] = 0;
  if (t == 0) {
    init(&object, 1);
    expect(&object, 16);
  }
  cluster.sync();
  const u32 value = in[blockIdx.x * kThreads + t] % 128;
  atomicAdd(cluster.map_shared_rank(&bin[value % 32], value / 32), 1);
  const u32 next = (rank + 1) % 4;
  if (t == 0) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                   in_rank(given, next)),
                 "r"(rank), "r"(10 + rank), "r"(20 + rank), "r"(30 + rank), "r"(in_rank(&object, next))
                 : "memory");
  }
  wait(&object, 0);
  const u32 sum = given[0] + given[1] + given[2] + given[3];
  cluster.sync();
  if (t < 32) out[rank * 32 + t] = bin[t];
  if (t == 0) out[128 + rank] = sum;
}

// All wait, and none has arrived.
__global__ void __cluster_dims__(2, 1, 1) waited_alone(u32* out)
{
  cg::this_cluster().barrier_wait(); // @alone
  out[blockIdx.x * kThreads + threadIdx.x] = 1;
}

// One block's copy comes to all four.
__global__ void __cluster_dims__(2, 2, 1) multicast(const u32* in, u32* out)
{
  __shared__ alignas(128) u32 tile[kThreads];
  __shared__ alignas(8) u64 object;
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x, rank = cluster.block_rank();
  if (t == 0) {
    init(&object, 1);
    expect(&object, sizeof tile);
  }
  cluster.sync();
  if (t == 0 && rank == 1) {
    const unsigned short all = 15;
    asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
        shared_address(tile)),
      "l"(in), "r"(static_cast<u32>(sizeof tile)), "r"(shared_address(&object)), "h"(all)
      : "memory");
  }
  wait(&object, 0);
  out[rank * kThreads + t] = tile[t] + 1000 * rank + 100 * (2 * blockIdx.y + blockIdx.x);
  cluster.sync();
}

// A product by a warpgroup, of ones: A in registers, B's 8 columns of 16 as two rows of core matrices.
template <bool kRight> __global__ void product(u32* out)
{
  __shared__ alignas(128) u32 columns[64];
  constexpr u32 kOnes = 0x3c003c00;
  if (threadIdx.x < 64) columns[threadIdx.x] = kOnes;
  fence_proxy();
  __syncthreads();
  float d[4] = {};
  const u64 descriptor = (shared_address(columns) & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32;
  if (kRight) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(kOnes), "l"(descriptor)); // @product
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = static_cast<u32>(d[0] + d[1] + d[2] + d[3]);
}

// Two products; the sums of the first one are doubled before the second one adds to them.
template <bool kRight> __global__ void scaled_product(u32* out)
{
  __shared__ alignas(128) u32 columns[64];
  constexpr u32 kOnes = 0x3c003c00;
  if (threadIdx.x < 64) columns[threadIdx.x] = kOnes;
  fence_proxy();
  __syncthreads();
  float d[4] = {};
  const u64 descriptor = (shared_address(columns) & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(kOnes), "l"(descriptor)); // @scaled
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (float& sum : d) sum *= 2;
    if (kRight) asm volatile("wgmma.fence.sync.aligned;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  }
  out[threadIdx.x] = static_cast<u32>(d[0] + d[1] + d[2] + d[3]);
}

constexpr u32 kWords = 1024;
u32 *in, *out, *sums;

// What the kernels before left, as one number that an H100 gave as well.
void show(const char* name, u32 words, u64 wanted)
{
  static u32 results[kWords];
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(results, out, words * sizeof(u32), cudaMemcpyDefault));
  u64 hash = 1469598103934665603ull;
  for (u32 i = 0; i < words; ++i) hash = (hash ^ results[i]) * 1099511628211ull;
  std::printf("%s %llu\n", name, hash);
  if (hash != wanted) {
    std::fprintf(stderr, "%s: %llu, not %llu\n", name, hash, wanted);
    std::exit(3);
  }
}

void launch_bins()
{
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(4);
  config.blockDim = dim3(kThreads);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, bins, static_cast<const u32*>(in), out));
}

void right()
{
  tiles<true><<<1, kThreads>>>(in, out);
  show("tiles", 512, 12003689654586147203ull);
  pipelined<true><<<1, kThreads>>>(in, out);
  show("pipelined", 256, 2894771611060367491ull);
  by_group<true><<<1, kThreads>>>(in, out);
  show("by_group", 128, 7253763010775592323ull);
  by_barrier<true><<<1, kThreads>>>(in, out);
  show("by_barrier", 128, 10716104107251621251ull);
  product<true><<<1, kThreads>>>(out);
  show("product", 128, 6089244482659387779ull);
  scaled_product<true><<<1, kThreads>>>(out);
  show("scaled_product", 128, 15503321804722375043ull);
  filled<<<1, kThreads>>>(in, out);
  show("filled", 128, 6149659841572929699ull);
  bulk<Bulk::kRight><<<1, kThreads>>>(in, out, sums);
  show("bulk", 128, 4837705585195651971ull);
  CHECK(cudaMemcpy(out, sums, 512, cudaMemcpyDefault));
  show("sums", 128, 4837705585195651971ull);
  ring<<<1, kThreads>>>(in, out);
  show("ring", 96, 12109784858493939075ull);
  neighbours<Near::kRight><<<2, kThreads>>>(in, out);
  show("neighbours", 256, 6901759404065004803ull);
  flags<true><<<2, kThreads>>>(out);
  launch_bins();
  show("bins", 132, 462440212510181795ull);
  multicast<<<dim3(2, 2), kThreads>>>(in, out);
  show("multicast", 512, 12321291367743680387ull);
}

void wrong()
{
  waited_alone<<<2, kThreads>>>(out);
  product<false><<<1, kThreads>>>(out);
  scaled_product<false><<<1, kThreads>>>(out);
  tiles<false><<<1, kThreads>>>(in, out);
  pipelined<false><<<1, kThreads>>>(in, out);
  by_group<false><<<1, kThreads>>>(in, out);
  by_barrier<false><<<1, kThreads>>>(in, out);
  overwritten<<<1, kThreads>>>(in, out);
  source_changed<<<1, kThreads>>>(in, out);
  bulk<Bulk::kNoWait><<<1, kThreads>>>(in, out, sums);
  bulk<Bulk::kNoFence><<<1, kThreads>>>(in, out, sums);
  bulk<Bulk::kReused><<<1, kThreads>>>(in, out, sums);
  neighbours<Near::kNoSync><<<2, kThreads>>>(in, out);
  flags<false><<<2, kThreads>>>(out);
  neighbours<Near::kNoEnd><<<2, kThreads>>>(in, out);
  bulk<Bulk::kBeyond><<<1, kThreads>>>(in, out, sums);
  neighbours<Near::kRank><<<2, kThreads>>>(in, out);
  cudaDeviceSynchronize();
}

int main(int argc, char** argv)
{
  static u32 numbers[kWords];
  for (u32 i = 0; i < kWords; ++i) numbers[i] = i * 2654435761u + 12345;
  CHECK(cudaMalloc(&in, sizeof numbers));
  CHECK(cudaMalloc(&out, sizeof numbers));
  CHECK(cudaMalloc(&sums, 512));
  CHECK(cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyDefault));
  CHECK(cudaMemset(out, 0, sizeof numbers));
  CHECK(cudaMemset(sums, 0, 512));
  if (started_with(argc, argv, "wrong")) wrong();
  else if (started_with(argc, argv, "hang")) bulk<Bulk::kTooFew><<<1, kThreads>>>(in, out, sums), cudaDeviceSynchronize();
  else right();
  cudaFree(in);
  cudaFree(out);
  cudaFree(sums);
}
