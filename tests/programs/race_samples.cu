// SPDX-License-Identifier: Apache-2.0
// Races between blocks in kernels in the manner of public samples and benchmarks, each with its right twin: stencils,
// graphs, sorts, reductions, images. The right ones are silent in five orders. It is one file because it is one list, as
// race_patterns.cu is.
//
// compute capability: 90
// run: racy
// device: simulated
// expect: note global-race line=LINE(level_search)
// expect: error global-race line=LINE(merged_histograms)
// expect: error global-race line=LINE(scan_of_blocks)
// expect: error global-race line=LINE(transposed)
// expect: error global-race line=LINE(rows_and_columns)
// expect: error global-race line=LINE(matrix_by_columns)
// expect: error global-race line=LINE(sum_of_blocks)
// expect: error global-race line=LINE(elimination)
// expect: error global-race line=LINE(heat)
// expect: error global-race line=LINE(cheapest_way)
// expect: error global-race line=LINE(alignment)
// expect: error global-race line=LINE(members_of_clusters)
// expect: error global-race line=LINE(scale_of_all)
// expect: error global-race line=LINE(particles)
// expect: error global-race line=LINE(moved_bodies)
// expect: error global-race line=LINE(flow)
// expect: error global-race line=LINE(tiles_by_a_counter)
// expect: error global-race line=LINE(radix_offsets)
// expect: error global-race line=LINE(rows_of_two_blocks)
// expect: error global-race line=LINE(page_ranks)
// expect: error global-race line=LINE(labels)
// expect: error global-race line=LINE(taken_while_appended)
// expect: error global-race line=LINE(last_of_all)
// expect: error global-race line=LINE(unlocked_too_early)
// expect: error global-race line=LINE(converged)
// expect: error global-race line=LINE(random_states)
// expect: error global-race line=LINE(summed_area)
// expect: error global-race line=LINE(found)
// expect: error global-race line=LINE(steepest)
// expect: error global-race line=LINE(edges_of_a_world)
// expect: error global-race line=LINE(ring_of_two)
// run: right-0
// device: simulated
// options: --device-seed 0
// expect: clean
// run: right-1
// device: simulated
// options: --device-seed 1
// expect: clean
// run: right-2
// device: simulated
// options: --device-seed 2
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3
// expect: clean
// run: right-4
// device: simulated
// options: --device-seed 4
// expect: clean
#include <cooperative_groups.h>
#include <cuda/atomic>

#include "race_grid.h" // behind the others, as its names are short

namespace cg = cooperative_groups;

// A barrier of all blocks, or of this one alone.
template <bool ok>
__device__ void sync_all()
{
  if (ok) cg::this_grid().sync();
  else __syncthreads();
}

// Rows of 64 on four blocks. A node's neighbours are the next one and the one seven further on.
template <bool ok>
__global__ void level_search(int* level, int* b)
{
  if (I == 0) level[0] = 1;
  for (int at = 1; at < 5; ++at) {
    sync_all<ok>();
    const int mine = level[I];
    sync_all<ok>();
    if (mine != at) continue;
    for (int next : {I + 1, I + 64})
      if (next < G) atomicCAS(&level[next], 0, at + 1); // @level_search
  }
  b[I] = 1;
}

template <bool ok>
__global__ void merged_histograms(int* a, int* b)
{
  __shared__ int bins[16];
  if (T < 16) bins[T] = 0;
  __syncthreads();
  atomicAdd(&bins[I * 7 % 16], 1);
  __syncthreads();
  if (T < 16) a[B * 16 + T] = bins[T]; // @merged_histograms
  sync_all<ok>();
  if (B != 0 || T >= 16) return;
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += a[i * 16 + T];
  b[T] = sum;
}

// Each block scans its part, and adds the sums of those before it.
template <bool ok>
__global__ void scan_of_blocks(int* a, int* b)
{
  __shared__ int part[64];
  part[T] = I % 5 + 1;
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    const int before = T >= step ? part[T - step] : 0;
    __syncthreads();
    part[T] += before;
    __syncthreads();
  }
  if (T == 63) a[B] = part[63]; // @scan_of_blocks
  sync_all<ok>();
  int sum = part[T];
  for (int i = 0; i < B; ++i) sum += a[i];
  b[I] = sum;
}

// A 16 by 16 matrix where it is, an element a thread. Each pair of elements is exchanged by one thread, or by two.
template <bool ok>
__global__ void transposed(int* a, int* b)
{
  const int x = I % 16, y = I / 16;
  a[I] = I + 1;
  cg::this_grid().sync();
  if (ok ? x <= y : x == y) return;
  const int other = a[x * 16 + y];
  if (ok) a[x * 16 + y] = a[I];
  a[I] = other; // @transposed
  b[I] = other;
}

// Rows into b, then columns out of it.
template <bool ok>
__global__ void rows_and_columns(int* a, int* b)
{
  const int x = I % 16, y = I / 16;
  b[I] = (x > 0 ? a[I - 1] : 0) + a[I] + I; // @rows_and_columns
  sync_all<ok>();
  a[I] = (y > 0 ? b[I - 16] : 0) + (y < 15 ? b[I + 16] : 0);
}

// Blocks have columns; the rows' sums are those of all of them.
template <bool ok>
__global__ void matrix_by_columns(int* a, int* y)
{
  int sum = 0;
  for (int column = B * 4; column < B * 4 + 4; ++column) sum += a[column * 64 + T] + column;
  if (ok) atomicAdd(&y[T], sum);
  else y[T] += sum; // @matrix_by_columns
}

template <bool ok>
__global__ void sum_of_blocks(int* a, int* b)
{
  const int sum = __reduce_add_sync(~0u, a[I] + 1);
  if (T % 32 != 0) return;
  if (ok) atomicAdd(b, sum);
  else *b = *b + sum; // @sum_of_blocks
}

// A row's factor, and then the row below the pivot's.
template <bool ok>
__global__ void elimination(int* m, int* factors)
{
  for (int pivot = 0; pivot < 3; ++pivot) {
    if (I < 16 && I > pivot) factors[I] = m[I * 16 + pivot] + I; // @elimination
    sync_all<ok>();
    const int x = I % 16, y = I / 16;
    if (y > pivot && x >= pivot) m[I] -= factors[y] * (m[pivot * 16 + x] + 1);
    sync_all<true>();
  }
}

template <bool ok>
__global__ void heat(int* a, int* b)
{
  int* const to = ok ? b : a;
  const int left = I > 0 ? a[I - 1] : 0, right = I + 1 < G ? a[I + 1] : 0;
  to[I] = left + right + I; // @heat
}

// The cheapest way down, a row a turn; blocks have columns, and those at the edges need a neighbour's.
template <bool ok>
__global__ void cheapest_way(int* a, int* b)
{
#pragma unroll 1
  for (int row = 0; row < 4; ++row) {
    const int* from = row % 2 == 0 ? a : b;
    int* to = row % 2 == 0 ? b : a;
    int least = from[I];
#pragma unroll 1
    for (int x = max(I - 1, 0); x <= min(I + 1, G - 1); ++x) least = min(least, from[x]);
    to[I] = least + I * row % 7 + 1; // @cheapest_way
    sync_all<ok>();
  }
}

// Squares of 8 by 8 along a diagonal; a block needs the last column of the one on its left.
template <bool ok>
__global__ void alignment(int* a, int* done)
{
  if (B > 0) {
    if (T == 0 && ok)
      while (cuda::atomic_ref<int, cuda::thread_scope_device>(done[B - 1]).load(cuda::memory_order_acquire) == 0) {}
    __syncthreads();
  }
  const int left = B > 0 ? a[(B - 1) * 64 + T / 8 * 8 + 7] : 0;
  a[I] = left + T + 1; // @alignment
  __syncthreads();
  if (T == 0) cuda::atomic_ref<int, cuda::thread_scope_device>(done[B]).store(1, cuda::memory_order_release);
}

template <bool ok>
__global__ void members_of_clusters(int* sizes, int* b)
{
  const int cluster = I * 13 % 5;
  if (ok) atomicAdd(&sizes[cluster], 1);
  else sizes[cluster]++; // @members_of_clusters
  b[I] = cluster;
}

// One block computes what all the others scale by.
template <bool ok>
__global__ void scale_of_all(int* a, int* b)
{
  if (B == 0) {
    const int sum = __reduce_add_sync(~0u, a[T] + T);
    if (T == 0) a[500] = sum; // @scale_of_all
  }
  sync_all<ok>();
  b[I] = a[500] * I;
}

// Thread 0 adds up the weights; then each particle looks for its own.
template <bool ok>
__global__ void particles(int* weights, int* b)
{
  weights[I] = I % 3 + 1;
  cg::this_grid().sync();
  if (I == 0)
    for (int i = 1; i < G; ++i) weights[i] += weights[i - 1]; // @particles
  sync_all<ok>();
  int found = 0;
  while (found < G - 1 && weights[found] < I * 2) ++found;
  b[I] = found;
}

template <bool ok>
__global__ void moved_bodies(int* at, int* speed)
{
  at[I] = I * I % 31;
  cg::this_grid().sync();
  int force = 0;
  for (int i = 0; i < G; ++i) force += at[i] - at[I];
  speed[I] += force;
  sync_all<ok>();
  at[I] += speed[I] + 1; // @moved_bodies
}

// What flows to the next cell.
template <bool ok>
__global__ void flow(int* cells, int* b)
{
  const int mine = cells[I] + I;
  sync_all<ok>();
  cells[(I + 1) % G] = mine; // @flow
  b[I] = mine;
}

// Blocks take tiles by a counter.
template <bool ok>
__global__ void tiles_by_a_counter(int* next, int* image)
{
  __shared__ int tile;
  while (true) {
    if (T == 0) tile = ok ? atomicAdd(next, 1) : (*next)++; // @tiles_by_a_counter
    __syncthreads();
    const int mine = tile;
    __syncthreads();
    if (mine >= 8) return;
    image[mine * 64 + T] = mine + T;
  }
}

// Counts of each block, offsets by one of them, and where each element comes to.
template <bool ok>
__global__ void radix_offsets(int* counts, int* sorted)
{
  __shared__ int of[4];
  if (T < 4) of[T] = 0;
  __syncthreads();
  const int digit = I * 11 % 4, rank = atomicAdd(&of[digit], 1);
  __syncthreads();
  if (T < 4) counts[T * 4 + B] = of[T];
  cg::this_grid().sync();
  if (I == 0) {
    int sum = 0;
    for (int i = 0; i < 16; ++i) {
      const int count = counts[i];
      counts[i] = sum; // @radix_offsets
      sum += count;
    }
  }
  sync_all<ok>();
  const int to = counts[digit * 4 + B] + rank;
  if (to < 2048) atomicAdd(&sorted[to], 1);
}

// Entries in a row; a row that two blocks have is added up by both.
template <bool ok>
__global__ void rows_of_two_blocks(int* a, int* y)
{
  __shared__ int sums[4];
  if (T < 4) sums[T] = 0;
  __syncthreads();
  const int first = B * 64 / 40, row = I / 40;
  atomicAdd(&sums[row - first], a[I] + 1);
  __syncthreads();
  if (T >= 3 || first + T > 6) return;
  if (ok) atomicAdd(&y[first + T], sums[T]);
  else if (sums[T] != 0) y[first + T] += sums[T]; // @rows_of_two_blocks
}

template <bool ok>
__global__ void page_ranks(int* rank, int* next)
{
  rank[I] = I + 1;
  cg::this_grid().sync();
  int sum = 1;
  for (int i = 1; i < 4; ++i) sum += rank[(I * i + 7) % G] / 3;
  if (ok) next[I] = sum;
  else rank[I] = sum; // @page_ranks
}

template <bool ok>
__global__ void labels(int* label, int* b)
{
  label[I] = I + 1;
  cg::this_grid().sync();
  const int other = (I * 5 + 3) % 100, mine = I + 1;
  if (ok) atomicMin(&label[other], mine);
  else if (mine < label[other]) label[other] = mine; // @labels
}

// Blocks append what the last one takes in the same launch.
template <bool ok>
__global__ void taken_while_appended(int* tail, int* list)
{
  if (B < 3 && T % 8 == 0) list[atomicAdd(tail, 1)] = I + 1; // @taken_while_appended
  sync_all<ok>();
  if (B != 3 || T >= 24) return;
  tail[100 + T] = list[T] * 2;
}

// The last block adds up: its fence is one of the block alone.
template <bool ok>
__global__ void last_of_all(int* a, int* b)
{
  __shared__ bool is_last;
  if (T == 0) {
    a[64 + B] = B + 5; // @last_of_all
    if (ok) __threadfence();
    else __threadfence_block();
    is_last = atomicInc(reinterpret_cast<unsigned*>(a), gridDim.x - 1) == gridDim.x - 1;
    if (ok) __threadfence();
  }
  __syncthreads();
  if (is_last && T < 4) b[T] = a[64 + T];
}

template <bool ok>
__global__ void unlocked_too_early(int* a, int* b)
{
  if (T != 0) return;
  while (atomicCAS(a, 0, 1) != 0) {}
  __threadfence();
  b[0] += B + 1; // @unlocked_too_early
  if (ok) __threadfence();
  atomicExch(a, 0);
}

// Whether something has changed: one thread resets it for the next turn.
template <bool ok>
__global__ void converged(int* a, int* changed)
{
  for (int turn = 0; turn < 3; ++turn) {
    if (I == 0) *changed = turn + 1; // @converged
    sync_all<true>();
    a[I] += *changed;
    if (ok) sync_all<true>();
  }
}

// States of random numbers: each thread's, or one for each number of a thread in its block.
template <bool ok>
__global__ void random_states(int* states, int* b)
{
  const int mine = ok ? I : T;
  b[I] = (states[mine] = states[mine] * 1103515245 + 12345 + I) >> 16; // @random_states
}

// Rows by their threads, then columns.
template <bool ok>
__global__ void summed_area(int* image, int* b)
{
  if (T < 4)
    for (int x = 1; x < 16; ++x) image[(B * 4 + T) * 16 + x] = image[(B * 4 + T) * 16 + x - 1] + x; // @summed_area
  sync_all<ok>();
  if (T < 4)
    for (int y = 1; y < 16; ++y) b[y * 16 + B * 4 + T] = image[y * 16 + B * 4 + T] + image[(y - 1) * 16 + B * 4 + T];
}

template <bool ok>
__global__ void found(int* count, int* found_at)
{
  if (I % 9 != 0) return;
  const int at = ok ? atomicAdd(count, 1) : (*count)++; // @found
  found_at[ok ? at : 100 + I] = I;
}

template <bool ok>
__global__ void steepest(int* most, int* b)
{
  const int gradient = I * 29 % 97 + 1;
  if (ok) atomicMax(most, gradient);
  else if (gradient > *most) *most = gradient; // @steepest
  b[I] = gradient;
}

// Life: blocks exchange their edges, and wait for the left neighbour alone.
template <bool ok>
__global__ void edges_of_a_world(int* edges, int* ready)
{
  using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (T == 0) {
    edges[B] = B + 1; // @edges_of_a_world
    Flag(ready[B]).store(1, cuda::memory_order_release);
    while (Flag(ready[(B + 3) % 4]).load(cuda::memory_order_acquire) == 0) {}
    if (ok)
      while (Flag(ready[(B + 1) % 4]).load(cuda::memory_order_acquire) == 0) {}
  }
  __syncthreads();
  if (T == 1) ready[100 + B] = edges[(B + 3) % 4] * 3 + edges[(B + 1) % 4];
}

// A ring of two elements: who fills one again has to know that it is empty.
template <bool ok>
__global__ void ring_of_two(int* ring, int* counts)
{
  using Count = cuda::atomic_ref<int, cuda::thread_scope_device>;
  if (T != 0 || B > 1) return;
  for (int i = 0; i < 6; ++i) {
    if (B == 0) {
      if (ok)
        while (Count(counts[1]).load(cuda::memory_order_acquire) + 2 <= i) {}
      ring[i % 2] = i + 1; // @ring_of_two
      Count(counts[0]).store(i + 1, cuda::memory_order_release);
    } else {
      while (Count(counts[0]).load(cuda::memory_order_acquire) <= i) {}
      ring[10 + i] = ring[i % 2];
      Count(counts[1]).store(i + 1, cuda::memory_order_release);
    }
  }
}

template <bool ok>
static void run_all()
{
  run(level_search<ok>);
  run(merged_histograms<ok>);
  run(scan_of_blocks<ok>);
  run(transposed<ok>);
  run(rows_and_columns<ok>);
  run(matrix_by_columns<ok>);
  run(sum_of_blocks<ok>);
  run(elimination<ok>);
  run(heat<ok>);
  run(cheapest_way<ok>);
  run(alignment<ok>);
  run(members_of_clusters<ok>);
  run(scale_of_all<ok>);
  run(particles<ok>);
  run(moved_bodies<ok>);
  run(flow<ok>);
  run(tiles_by_a_counter<ok>);
  run(radix_offsets<ok>);
  run(rows_of_two_blocks<ok>);
  run(page_ranks<ok>);
  run(labels<ok>);
  run(taken_while_appended<ok>);
  run(last_of_all<ok>);
  run(unlocked_too_early<ok>);
  run(converged<ok>);
  run(random_states<ok>);
  run(summed_area<ok>);
  run(found<ok>);
  run(steepest<ok>);
  run(edges_of_a_world<ok>);
  run(ring_of_two<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy")) run_all<false>();
  else run_all<true>();
}
