// SPDX-License-Identifier: Apache-2.0
// Small slips around mbarriers, bulk copies, clusters and matrices in shared memory, each as a kernel with its right twin. What the right
// ones leave is what an H100 gave.
// It is one file because it is one list: a kernel of each kind, its twin, and the finding that it must have.
//
// compute capability: 90a
// run: wrong
// unlike-fenced: what lies past a fence ends the kernel
// device: simulated
// expect: error shared-race line=LINE(parity) message="has not been waited for"
// expect: error shared-race line=LINE(own-wait) message="without a barrier"
// expect: error shared-race line=LINE(sent) message="has not been waited for"
// expect: error shared-race line=LINE(arrived) message="barrier of the cluster"
// expect: warning shared-race line=LINE(unfenced) message="by wgmma, without fence.proxy.async"
// expect: error kernel-out-of-bounds line=LINE(rows) message="right behind the end"
// expect: error shared-race line=LINE(stored-rows) message="without a barrier"
// expect: error shared-race line=LINE(made) message="without a barrier"
// expect: error kernel-out-of-bounds line=LINE(reduced) message="across the end"
// expect: error shared-race line=LINE(pushed) message="has not been waited for"
// expect: error shared-race line=LINE(groups) message="has not been waited for"
// expect: error kernel-out-of-bounds line=LINE(rank) message="of rank 2 in a cluster of 2 blocks"
// not-checked: leak
// run: too-few
// device: simulated
// expect: error kernel-hang line=LINE(too-few) message="512 bytes more"
// not-checked: leak
// run: lacking
// device: simulated
// expect: error kernel-hang message="nothing changes any more"
// not-checked: leak
// run: right
// expect: clean
// run: right seeded
// device: simulated
// options: --device-seed 5
// expect: clean
#include "answers.h"
#include "async_words.h"
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

constexpr u32 kThreads = 128;

// A wait for the parity of the phase before passes at once.
template <bool kRight> __global__ void parity(const u32* in, u32* out)
{
  __shared__ alignas(128) u32 tile[kThreads];
  __shared__ alignas(8) u64 object;
  const u32 t = threadIdx.x;
  if (t == 0) init(&object, 1);
  __syncthreads();
  if (t == 0) {
    expect(&object, sizeof tile);
    load_bulk(tile, in, sizeof tile, &object);
  }
  wait(&object, kRight ? 0 : 1);
  out[t] = tile[kThreads - 1 - t]; // @parity
}

// The phase ends with the first of two copies.
template <bool kRight> __global__ void too_few(const u32* in, u32* out)
{
  __shared__ alignas(128) u32 tile[2][kThreads];
  __shared__ alignas(8) u64 object;
  const u32 t = threadIdx.x;
  if (t == 0) init(&object, 1);
  __syncthreads();
  if (t == 0) {
    for (u32 i = 0; i < 2; ++i) load_bulk(tile[i], in + i * kThreads, sizeof tile[i], &object);
    expect(&object, kRight ? sizeof tile : sizeof tile[0]);
  }
  wait(&object, 0); // @too-few
  out[t] = tile[0][t] + tile[1][kThreads - 1 - t];
}

// Stages that one thread fills when their users have let them go.
__global__ void ring(const u32* in, u32* out)
{
  constexpr u32 kStages = 2, kRounds = 6, kUsers = 96;
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

// Each thread waits for its own copies alone.
template <bool kRight> __global__ void own_wait(const u32* in, u32* out)
{
  __shared__ u32 tile[kThreads];
  const u32 t = threadIdx.x;
  __pipeline_memcpy_async(&tile[t], &in[t], 4);
  asm volatile("cp.async.wait_all;" ::: "memory");
  if (kRight) __syncthreads();
  out[t] = tile[kThreads - 1 - t]; // @own-wait
}

// What st.async sends to the other block is used without a wait for it.
template <bool kRight> __global__ void __cluster_dims__(2, 1, 1) sent(u32* out)
{
  __shared__ alignas(16) u32 given[4];
  __shared__ alignas(8) u64 object;
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x, other = cluster.block_rank() ^ 1;
  if (t == 0) {
    init(&object, 1);
    expect(&object, 4);
  }
  cluster.sync();
  if (t == 0) {
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(in_rank(given, other)),
                 "r"(7 + other), "r"(in_rank(&object, other))
                 : "memory");
  }
  if (kRight) wait(&object, 0);
  if (t == 1) out[cluster.block_rank()] = given[0]; // @sent
  cluster.sync();
}

// The other block's memory is read before the barrier of the cluster is waited for.
template <bool kRight> __global__ void __cluster_dims__(2, 1, 1) arrived(const u32* in, u32* out)
{
  __shared__ u32 tile[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x;
  tile[t] = in[t]; // @arrived
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  if (kRight) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  out[blockIdx.x * kThreads + t] = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1)[kThreads - 1 - t];
  if (!kRight) asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  cluster.sync();
}

// The mask of a multicast lacks a block that waits.
template <bool kRight> __global__ void __cluster_dims__(4, 1, 1) lacking(const u32* in, u32* out)
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
    const unsigned short blocks = kRight ? 15 : 7;
    asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
        shared_address(tile)),
      "l"(in), "r"(static_cast<u32>(sizeof tile)), "r"(shared_address(&object)), "h"(blocks)
      : "memory");
  }
  wait(&object, 0);
  out[rank * kThreads + t] = tile[t];
  cluster.sync();
}

// An atomic in a block that the cluster does not have.
template <bool kRight> __global__ void __cluster_dims__(2, 1, 1) counted(u32* out)
{
  __shared__ u32 sum;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(in_rank(&sum, kRight ? 1 : 2)) : "memory"); // @rank
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// B of a product is written by threads, which wgmma sees only behind a fence.
template <bool kRight> __global__ void unfenced(u32* out)
{
  __shared__ alignas(128) u32 columns[64];
  constexpr u32 kOnes = 0x3c003c00;
  if (threadIdx.x < 64) columns[threadIdx.x] = kOnes;
  if (kRight) fence_proxy();
  __syncthreads();
  float d[4] = {};
  const u64 descriptor = (shared_address(columns) & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(kOnes), "l"(descriptor)); // @unfenced
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = static_cast<u32>(d[0] + d[1] + d[2] + d[3]);
}

// Rows that are twice as far apart as the tile has room for.
template <bool kRight> __global__ void rows(u32* out)
{
  extern __shared__ u32 tile[];
  const u32 t = threadIdx.x;
  for (u32 i = t; i < 128; i += 32) tile[i] = i;
  __syncthreads();
  u32 a, b, c, d;
  const u32 at = shared_address(tile) + (kRight ? 16 : 32) * t;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(at) // @rows
               : "memory");
  out[t] = a + b + c + d;
}

// What one warp stores as a matrix the other one reads.
template <bool kRight> __global__ void stored_rows(u32* out)
{
  __shared__ alignas(16) u32 tile[128];
  const u32 t = threadIdx.x;
  if (t < 32) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(tile) + 16 * t), "r"(t),
                 "r"(t + 1), "r"(t + 2), "r"(t + 3)
                 : "memory");
  }
  if (kRight) __syncthreads();
  if (t >= 32) out[t] = tile[t * 2 - 64]; // @stored-rows
}

// Other warps may come to the mbarrier before it has been made.
template <bool kRight> __global__ void made(const u32* in, u32* out)
{
  __shared__ alignas(128) u32 tile[kThreads];
  __shared__ alignas(8) u64 object;
  const u32 t = threadIdx.x;
  if (t == 0) init(&object, 1);
  if (kRight) __syncthreads();
  if (t == 0) {
    expect(&object, sizeof tile);
    load_bulk(tile, in, sizeof tile, &object);
  }
  wait(&object, 0); // @made
  out[t] = tile[t];
}

// A sum in place past the end.
template <bool kRight> __global__ void reduced(u32* sums)
{
  __shared__ alignas(128) u32 tile[kThreads];
  const u32 t = threadIdx.x;
  tile[t] = t;
  fence_proxy();
  __syncthreads();
  if (t != 0) return;
  add_bulk(sums + (kRight ? 0 : 64), tile, sizeof tile); // @reduced
  commit_bulk();
  wait_bulk();
}

// A copy to the other block of the cluster, used there before its mbarrier says that it has come.
template <bool kRight> __global__ void __cluster_dims__(2, 1, 1) pushed(u32* out)
{
  __shared__ alignas(128) u32 tile[kThreads], there[kThreads];
  __shared__ alignas(8) u64 object;
  const cg::cluster_group cluster = cg::this_cluster();
  const u32 t = threadIdx.x, other = cluster.block_rank() ^ 1;
  if (t == 0) {
    init(&object, 1);
    expect(&object, sizeof tile);
  }
  tile[t] = t + other;
  fence_proxy();
  cluster.sync();
  if (t == 0) {
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   in_rank(there, other)),
                 "r"(shared_address(tile)), "r"(static_cast<u32>(sizeof tile)), "r"(in_rank(&object, other))
                 : "memory");
  }
  if (kRight) wait(&object, 0);
  out[blockIdx.x * kThreads + t] = there[t]; // @pushed
  cluster.sync();
}

// One group of copies is still read where its source changes.
template <bool kRight> __global__ void groups(u32* out)
{
  __shared__ alignas(128) u32 tile[2][kThreads];
  const u32 t = threadIdx.x;
  for (u32 i = 0; i < 2; ++i) {
    tile[i][t] = t + i;
    fence_proxy();
    __syncthreads();
    if (t == 0) {
      store_bulk(out + i * kThreads, tile[i], sizeof tile[i]);
      commit_bulk();
    }
  }
  if (t == 0) {
    if (kRight) wait_bulk_read();
    else asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
  }
  __syncthreads();
  tile[1][t] = 9; // @groups
  if (t == 0) wait_bulk();
}

constexpr u32 kWords = 1024;
u32 *in, *out, *sums;

// What the kernel before left, as one number that an H100 gave as well.
void show(const char* name, u64 wanted)
{
  static u32 results[kWords + 128];
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(results, out, kWords * sizeof(u32), cudaMemcpyDefault));
  CHECK(cudaMemcpy(results + kWords, sums, 512, cudaMemcpyDefault));
  CHECK(cudaMemset(out, 0, kWords * sizeof(u32)));
  CHECK(cudaMemset(sums, 0, 512));
  u64 hash = 1469598103934665603ull;
  for (const u32 word : results) hash = (hash ^ word) * 1099511628211ull;
  std::printf("%s %llu\n", name, hash);
  if (hash != wanted) {
    std::fprintf(stderr, "%s: %llu, not %llu\n", name, hash, wanted);
    std::exit(3);
  }
}

void right()
{
  parity<true><<<1, kThreads>>>(in, out);
  show("parity", 963137358931660803ull);
  too_few<true><<<1, kThreads>>>(in, out);
  show("too_few", 1188143653521474819ull);
  ring<<<1, kThreads>>>(in, out);
  show("ring", 17393864553399374179ull);
  own_wait<true><<<1, kThreads>>>(in, out);
  show("own_wait", 963137358931660803ull);
  sent<true><<<2, kThreads>>>(out);
  show("sent", 16103544824041336748ull);
  arrived<true><<<2, kThreads>>>(in, out);
  show("arrived", 11318105943083788163ull);
  lacking<true><<<4, kThreads>>>(in, out);
  show("lacking", 16425930825029019011ull);
  counted<true><<<2, 32>>>(out);
  show("counted", 2124540090083874883ull);
  unfenced<true><<<1, kThreads>>>(out);
  show("unfenced", 953458306579413379ull);
  rows<true><<<1, 32, 512>>>(out);
  show("rows", 13687680334707063811ull);
  stored_rows<true><<<1, 64>>>(out);
  show("stored_rows", 13907577720210327235ull);
  made<true><<<1, kThreads>>>(in, out);
  show("made", 6358642642948518531ull);
  reduced<true><<<1, kThreads>>>(sums);
  show("reduced", 3590645952469080451ull);
  pushed<true><<<2, kThreads>>>(out);
  show("pushed", 17692064907196425347ull);
  groups<true><<<1, kThreads>>>(out);
  show("groups", 17692064907196425347ull);
}

void wrong()
{
  parity<false><<<1, kThreads>>>(in, out);
  own_wait<false><<<1, kThreads>>>(in, out);
  sent<false><<<2, kThreads>>>(out);
  arrived<false><<<2, kThreads>>>(in, out);
  unfenced<false><<<1, kThreads>>>(out);
  rows<false><<<1, 32, 512>>>(out);
  stored_rows<false><<<1, 64>>>(out);
  made<false><<<1, kThreads>>>(in, out);
  reduced<false><<<1, kThreads>>>(sums);
  pushed<false><<<2, kThreads>>>(out);
  groups<false><<<1, kThreads>>>(out);
  counted<false><<<2, 32>>>(out);
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
  if (started_with(argc, argv, "wrong")) {
    wrong();
  } else if (started_with(argc, argv, "too-few")) {
    too_few<false><<<1, kThreads>>>(in, out);
    cudaDeviceSynchronize();
  } else if (started_with(argc, argv, "lacking")) {
    lacking<false><<<4, kThreads>>>(in, out);
    cudaDeviceSynchronize();
  } else {
    right();
  }
  cudaFree(in);
  cudaFree(out);
  cudaFree(sums);
}
