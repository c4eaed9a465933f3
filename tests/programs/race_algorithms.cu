// SPDX-License-Identifier: Apache-2.0
// Algorithms that share memory between blocks, each with a race and with its right twin: solvers, tables, stacks, meshes.
// The right ones are silent in five orders. It is one file because it is one list, as race_patterns.cu is.
//
// run: racy
// device: simulated
// expect: error global-race line=LINE(wavefront)
// expect: error global-race line=LINE(hash_table)
// expect: error global-race line=LINE(pushed)
// expect: error global-race line=LINE(readers_and_a_writer)
// expect: error global-race line=LINE(butterfly)
// expect: error global-race line=LINE(permuted)
// expect: error global-race line=LINE(latch)
// expect: error global-race line=LINE(read_only)
// expect: error global-race line=LINE(counter_in_a_vector)
// expect: error global-race line=LINE(appended)
// expect: error global-race line=LINE(segments)
// expect: error global-race line=LINE(edges)
// expect: error global-race line=LINE(bodies)
// expect: error global-race line=LINE(colours)
// expect: error global-race line=LINE(solved)
// expect: error global-race line=LINE(semaphore)
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

#include "race_grid.h" // behind the others, as its names are short

namespace cg = cooperative_groups;

// Raises a flag behind what its block did, and waits for one, for all threads of the block.
__device__ void raise(int* flag)
{
  __syncthreads();
  if (T == 0)
  {
    __threadfence();
    atomicExch(flag, 1);
  }
}
__device__ void wait_for(int* flag)
{
  if (T == 0)
  {
    while (atomicAdd(flag, 0) == 0)
      ;
    __threadfence();
  }
  __syncthreads();
}

// Counts one more, as soon as there are fewer than `room`.
__device__ void take(int* count, int room)
{
  for (;;)
  {
    const int now = atomicAdd(count, 0);
    if (now < room && atomicCAS(count, now, now + 1) == now)
      break;
  }
  __threadfence();
}

// Tiles of two by two: each needs the one on its left and the one above it.
template <bool ok>
__global__ void wavefront_of_tiles(int* a, int* b)
{
  const int x = B % 2, y = B / 2;
  if (x == 1)
    wait_for(b + B - 1);
  if (ok && y == 1)
    wait_for(b + B - 2);
  const int left = x == 1 ? a[(B - 1) * N + T] : 1;
  const int above = y == 1 ? a[(B - 2) * N + T] : 1; // @wavefront
  a[I] = left + above;
  raise(b + B);
}

// A key is there before its value is, or behind it.
template <bool ok>
__global__ void inserted_and_looked_up(int* a, int* b)
{
  int* value = a + T % 32;
  int* key = b + T % 32;
  if (B == 0 && T < 32)
  {
    if (!ok)
      atomicExch(key, T + 1);
    *value = T * 3; // @hash_table
    __threadfence();
    if (ok)
      atomicExch(key, T + 1);
  }
  if (B == 1 && T < 32)
  {
    while (atomicAdd(key, 0) != T + 1)
      ;
    __threadfence();
    a[512 + T] = *value;
  }
}

// A stack of nodes, whose head is an index: the next one is stored before the node is in it.
template <bool ok>
__global__ void stack_of_nodes(int* a, int* b)
{
  int* head = b;
  const int node = I + 1;
  int seen = atomicAdd(head, 0), before;
  do
  {
    before = seen;
    if (ok)
      a[node] = before;
    __threadfence();
    seen = atomicCAS(head, before, node);
  } while (seen != before);
  if (!ok)
    a[node] = before; // @pushed
  const int first = atomicAdd(head, 0);
  __threadfence();
  a[600 + I] = a[first];
}

// Many readers or one writer, who does not wait for the readers.
template <bool ok>
__global__ void lock_of_readers(int* a, int* b)
{
  if (T != 0)
    return;
  int* lock = b; // how many read; 1000: one writes
  if (B == 3)
  {
    if (ok)
      while (atomicCAS(lock, 0, 1000) != 0)
        ;
    else
      atomicAdd(lock, 1000);
    __threadfence();
    a[0] = a[0] + 1; // @readers_and_a_writer
    __threadfence();
    atomicSub(lock, 1000);
    return;
  }
  take(lock, 1000);
  a[B + 1] = a[0];
  __threadfence();
  atomicSub(lock, 1);
}

// The partner of an element is another block's, so a step needs the whole grid's last one.
template <bool ok>
__global__ void sums_by_pairs(int* a, int*)
{
  for (int distance = N; distance > 0; distance /= 2)
  {
    const int sum = a[I] + a[I ^ distance] + 1; // @butterfly
    if (ok)
      cg::this_grid().sync();
    else
      __syncthreads();
    a[I] = sum;
    if (ok)
      cg::this_grid().sync();
    else
      __syncthreads();
  }
}

template <bool ok>
__global__ void permuted_over_its_input(int* a, int*)
{
  const int value = a[I];
  if (ok)
    cg::this_grid().sync();
  a[(I * 5 + 64) % G] = value + I; // @permuted
}

// The last but one goes on as if it were the last.
template <bool ok>
__global__ void latch_of_blocks(int* a, int* b)
{
  a[I] = I;
  __threadfence();
  __syncthreads();
  __shared__ bool is_last;
  if (T == 0)
    is_last = atomicAdd(b, 1) == static_cast<int>(gridDim.x) - (ok ? 1 : 2);
  __syncthreads();
  if (!is_last)
    return;
  __threadfence();
  int sum = 0;
  for (int i = T; i < G; i += N)
    sum += a[i]; // @latch
  a[1024 + T] = sum;
}

// What is written in the launch is none of the data that may be read so.
template <bool ok>
__global__ void read_only_data(int* a, int* b)
{
  if (ok)
    b[I] = __ldg(a + (I + N) % G);
  else
  {
    a[I] = I;
    b[I] = __ldg(a + (I + N) % G); // @read_only
  }
}

// A vector of four has a counter in it that others add to.
template <bool ok>
__global__ void counter_in_a_vector(int* a, int* b)
{
  if (T < 4)
    atomicAdd(a + T * 4 + 3, 1);
  if (T >= 8)
    return;
  if (ok)
    b[I] = a[T * 4] + a[T * 4 + 1];
  else if (T < 4)
  {
    const int4 all = reinterpret_cast<const int4*>(a)[T]; // @counter_in_a_vector
    b[I] = all.x + all.y + all.w;
  }
}

// One lane takes room for its warp, and each lane has its rank in it, or in its row of eight.
template <bool ok>
__global__ void appended_by_warps(int* a, int* b)
{
  const unsigned takes = __ballot_sync(~0u, I % 3 == 0);
  int begin = 0;
  if (T % 32 == 0)
    begin = atomicAdd(b, __popc(takes));
  begin = __shfl_sync(~0u, begin, 0);
  const int lane = ok ? T % 32 : T % 8;
  if (I % 3 == 0)
    a[begin + __popc(takes & ((1u << lane) - 1))] = I; // @appended
}

// Threads have equal parts of rows, so that one row may be two threads'.
template <bool ok>
__global__ void segments_of_rows(int* a, int* b)
{
  constexpr int kEach = 6, kRow = 4;
  int sum = 0;
  for (int i = I * kEach; i < (I + 1) * kEach; ++i)
  {
    sum += i;
    if (i % kRow != kRow - 1 && i != (I + 1) * kEach - 1)
      continue;
    if (ok)
      atomicAdd(a + i / kRow, sum);
    else
      a[i / kRow] += sum; // @segments
    sum = 0;
  }
  b[I] = 0;
}

// Each edge of a ring adds to the nodes at its ends.
template <bool ok>
__global__ void edges_of_a_mesh(int* a, int*)
{
  const int ends[] = {I, (I + 1) % G};
  for (int end : ends)
  {
    if (ok)
      atomicAdd(a + end, I + 1);
    else
      a[end] += I + 1; // @edges
  }
}

// Each moves by where all others are, or were.
template <bool ok>
__global__ void bodies_that_move(int* a, int* b)
{
  int force = 0;
  for (int i = 0; i < G; ++i)
    force += a[i] - a[I];
  if (ok)
    b[I] = a[I] + force;
  else
    a[I] += force + I; // @bodies
}

// Points of one colour are not neighbours, unless rows are odd.
template <bool ok>
__global__ void two_colours(int* a, int*)
{
  const int width = ok ? 16 : 15;
  const auto is_red = [=](int i) { return (i % width + (ok ? i / width : 0)) % 2 == 0; };
  const bool is_inside = I % width > 0 && I % width < width - 1 && I >= width && I < G - width;
  if (!is_red(I) || !is_inside)
    return;
  a[I] = a[I - 1] + a[I + 1] + a[I - width] + a[I + width] + 1; // @colours
}

// A row of a triangular system needs all rows in front of it, and not half of them.
template <bool ok>
__global__ void solved_by_rows(int* a, int* b)
{
  for (int row = 0; row < (ok ? B : B / 2); ++row)
    wait_for(b + row);
  if (T == 0)
  {
    int sum = 1;
    for (int row = 0; row < B; ++row)
      sum += a[row * N];
    a[B * N] = sum; // @solved
  }
  raise(b + B);
}

// Room for one, or by mistake for two.
template <bool ok>
__global__ void semaphore_of_blocks(int* a, int* b)
{
  if (T != 0)
    return;
  constexpr int kRoom = ok ? 1 : 2;
  take(b, kRoom);
  a[0] = a[0] + B + 1; // @semaphore
  __threadfence();
  atomicSub(b, 1);
}

template <bool ok>
static void all()
{
  run(wavefront_of_tiles<ok>);
  run(inserted_and_looked_up<ok>);
  run(stack_of_nodes<ok>);
  run(lock_of_readers<ok>);
  run(sums_by_pairs<ok>);
  run(permuted_over_its_input<ok>);
  run(latch_of_blocks<ok>);
  run(read_only_data<ok>);
  run(counter_in_a_vector<ok>);
  run(appended_by_warps<ok>);
  run(segments_of_rows<ok>);
  run(edges_of_a_mesh<ok>);
  run(bodies_that_move<ok>);
  run(two_colours<ok>);
  run(solved_by_rows<ok>);
  run(semaphore_of_blocks<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy"))
    all<false>();
  else
    all<true>();
}
