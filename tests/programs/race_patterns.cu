// SPDX-License-Identifier: Apache-2.0
// Patterns of algorithms with a race in global memory, each with its right twin: graphs, lists, queues, locks, scans.
// The right ones are silent in five orders.
// It is one file because it is one list: a kernel of each pattern, its twin, and the finding that it must have.
//
// run: racy
// device: simulated
// expect: error global-race line=LINE(parents_of_a_search)
// expect: error global-race line=LINE(labels_of_components)
// expect: error global-race line=LINE(work_list)
// expect: error global-race line=LINE(slot)
// expect: note global-race line=LINE(something_changed)
// expect: error global-race line=LINE(ranks_over_ranks)
// expect: error global-race line=LINE(degrees_of_16_bits)
// expect: error global-race line=LINE(look_back)
// expect: error global-race line=LINE(ticket_lock)
// expect: error global-race line=LINE(locks_of_two_names)
// expect: error global-race line=LINE(beside_another_flag)
// expect: error global-race line=LINE(sequence_lock)
// expect: error global-race line=LINE(sequence_lock)
// expect: error global-race line=LINE(ring)
// expect: error global-race line=LINE(two_buffers_in_turn)
// expect: error global-race line=LINE(first_block_sums)
// expect: error global-race line=LINE(tiles_with_an_edge)
// expect: error global-race line=LINE(bits_of_a_set)
// expect: error global-race line=LINE(greatest_and_its_index)
// expect: error global-race line=LINE(half_of_a_structure)
// expect: error global-race line=LINE(leader_of_a_warp)
// expect: error global-race line=LINE(byte_in_a_word)
// expect: error global-race line=LINE(barrier_of_blocks)
// expect: error global-race line=LINE(grid_barrier)
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

// Each thread has an edge to a node, and each node several such edges.
template <bool ok>
__global__ void parents_of_a_search(int* a, int* b)
{
  const int node = 1 + I % 32;
  if (ok) atomicCAS(&a[node], 0, 1 + I);
  else a[node] = 1 + I; // @parents_of_a_search
}

template <bool ok>
__global__ void labels_of_components(int* a, int* b)
{
  const int node = I % 64, next = (I * 7 + 3) % 64;
  if (ok) atomicMin(&a[node], atomicAdd(&a[next], 0));
  else a[node] = min(a[next], I); // @labels_of_components
}

template <bool ok>
__global__ void work_list(int* a, int* b)
{
  int slot = 0;
  if (ok) slot = atomicAdd(a, 1);
  else slot = a[0]++; // @work_list
  b[slot] = I; // @slot
}

template <bool ok>
__global__ void something_changed(int* a, int* b)
{
  if (ok) atomicOr(a, 1);
  else a[0] = 1; // @something_changed
}

template <bool ok>
__global__ void ranks_over_ranks(int* a, int* b)
{
  const int sum = a[(I + 1) % G] + a[(I + G - 1) % G];
  int* const to = ok ? b : a;
  to[I] = sum + 1; // @ranks_over_ranks
}

template <bool ok>
__global__ void degrees_of_16_bits(int* a, int* b)
{
  auto* degrees = reinterpret_cast<unsigned short*>(a);
  if (ok) atomicAdd(&a[I % 16], 1);
  else degrees[I % 16] += 1; // @degrees_of_16_bits
}

// Each block waits for the sum of the blocks before it.
template <bool ok>
__global__ void look_back(int* a, int* b)
{
  if (T != 0) return;
  int* const sums = a + 16;
  int sum = B;
  while (B != 0 && atomicAdd(&a[B - 1], 0) == 0) {}
  if (ok) __threadfence();
  if (B != 0) sum += sums[B - 1]; // @look_back
  sums[B] = sum;
  if (ok) __threadfence();
  atomicExch(&a[B], 1);
}

template <bool ok>
__global__ void ticket_lock(int* a, int* b)
{
  if (T != 0) return;
  const int ticket = atomicAdd(&a[0], 1);
  while (atomicAdd(&a[1], 0) != ticket) {}
  if (ok) __threadfence();
  a[2] = a[2] * 2 + 1; // @ticket_lock
  if (ok) __threadfence();
  atomicAdd(&a[1], 1);
}

// Blocks that take different locks do not wait for each other.
template <bool ok>
__global__ void locks_of_two_names(int* a, int* b)
{
  if (T != 0) return;
  int* lock = &a[ok ? 0 : B % 2];
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  a[4] += 1; // @locks_of_two_names
  __threadfence();
  atomicExch(lock, 0);
}

// Every second block gets a number from the one before it. Those do not know of each other.
template <bool ok>
__global__ void beside_another_flag(int* a, int* b)
{
  if (T != 0) return;
  if (B % 2 == 1) {
    while (atomicAdd(&a[B - 1], 0) == 0) {}
    __threadfence();
    b[ok ? B : 0] = a[32 + B]; // @beside_another_flag
  } else {
    a[33 + B] = B;
  }
  __threadfence();
  atomicExch(&a[B], 1);
}

// The first block writes, the others read until the number is even and the same before and behind.
template <bool ok>
__global__ void sequence_lock(int* a, int* b)
{
  if (T != 0) return;
  if (B == 0) {
    atomicAdd(&a[0], 1);
    __threadfence();
    atomicExch(&a[1], 5);
    if (!ok) a[1] = 6;
    __threadfence();
    atomicAdd(&a[0], 1);
    return;
  }
  int before, value;
  do {
    if (!ok) value = a[1]; // @sequence_lock
    before = atomicAdd(&a[0], 0);
    __threadfence();
    if (ok) value = atomicAdd(&a[1], 0);
    __threadfence();
  } while (before != 2 || atomicAdd(&a[0], 0) != before);
  b[B] = value;
}

// The first block puts values into a ring, the second takes them.
template <bool ok>
__global__ void ring(int* a, int* b)
{
  if (T != 0 || B > 1) return;
  int* const slots = a + 16;
  for (int i = 0; i < 8; ++i) {
    if (B == 0) {
      while (ok && i - atomicAdd(&a[1], 0) >= 4) {} // not full
      __threadfence();
      slots[i % 4] = i;
      __threadfence();
      atomicAdd(&a[0], 1);
    } else {
      while (ok && atomicAdd(&a[0], 0) <= i) {} // not empty
      __threadfence();
      b[i] = slots[i % 4]; // @ring
      __threadfence();
      atomicAdd(&a[1], 1);
    }
  }
}

template <bool ok>
__global__ void two_buffers_in_turn(int* a, int* b)
{
  int *from = a, *to = b;
  for (int i = 0; i < 3; ++i) {
    const int beside = ok ? B * N + (T + 1) % N : (I + 1) % G;
    to[I] = from[beside] + 1; // @two_buffers_in_turn
    int* const other = from;
    from = to;
    to = other;
    __syncthreads();
  }
}

template <bool ok>
__global__ void first_block_sums(int* a, int* b)
{
  __shared__ bool is_last;
  if (T == 0) a[16 + B] = B;
  __threadfence();
  if (T == 0) is_last = ok ? atomicAdd(a, 1) == static_cast<int>(gridDim.x) - 1 : B == 0;
  __syncthreads();
  if (!is_last || T != 0) return;
  __threadfence();
  int sum = 0;
  for (int i = 0; i < static_cast<int>(gridDim.x); ++i) sum += a[16 + i]; // @first_block_sums
  b[0] = sum;
}

// Each block writes a tile, and one too wide by a column.
template <bool ok>
__global__ void tiles_with_an_edge(int* a, int* b)
{
  const int x = T % 16, y = T / 16;
  a[y * 128 + B * 16 + x] = I; // @tiles_with_an_edge
  if (x == 15 && !ok) a[y * 128 + B * 16 + 16] = -I;
}

template <bool ok>
__global__ void bits_of_a_set(int* a, int* b)
{
  if (ok) atomicOr(&a[I / 32], 1 << I % 32);
  else a[I / 32] |= 1 << I % 32; // @bits_of_a_set
}

template <bool ok>
__global__ void greatest_and_its_index(int* a, int* b)
{
  const int value = (I * 37) % 101;
  if (ok) {
    const auto both = static_cast<unsigned long long>(value) << 32 | static_cast<unsigned>(I);
    atomicMax(reinterpret_cast<unsigned long long*>(a), both);
  } else if (atomicMax(&a[0], value) < value) {
    a[1] = I; // @greatest_and_its_index
  }
}

template <bool ok>
__global__ void half_of_a_structure(int* a, int* b)
{
  auto* const pairs = reinterpret_cast<int4*>(a);
  pairs[I] = make_int4(I, I, I, I);
  if (ok) b[I] = pairs[I].z;
  else b[I] = pairs[(I + 33) % G].z; // @half_of_a_structure
}

template <bool ok>
__global__ void leader_of_a_warp(int* a, int* b)
{
  const unsigned active = __activemask();
  int first = 0;
  if (T % 32 == 0) {
    if (ok) first = atomicAdd(a, __popc(active));
    else first = a[0], a[0] = first + __popc(active); // @leader_of_a_warp
  }
  first = __shfl_sync(active, first, 0);
  atomicAdd(&b[first + T % 32], 1);
}

template <bool ok>
__global__ void byte_in_a_word(int* a, int* b)
{
  if (ok) reinterpret_cast<char*>(a)[I] = 1;
  else a[I / 4] |= 1 << 8 * (I % 4); // @byte_in_a_word
}

// All blocks are resident: a launch of four small ones.
template <bool ok>
__global__ void barrier_of_blocks(int* a, int* b)
{
  a[16 + I] = I;
  __syncthreads();
  if (T == 0) {
    if (ok) __threadfence();
    atomicAdd(a, 1);
    while (atomicAdd(a, 0) < static_cast<int>(gridDim.x)) {}
    if (ok) __threadfence();
  }
  __syncthreads();
  b[I] = a[16 + (I + N) % G]; // @barrier_of_blocks
}

template <bool ok>
__global__ void grid_barrier(int* a, int* b)
{
  a[I] = I;
  if (ok) cg::this_grid().sync();
  else __syncthreads();
  b[I] = a[(I + N) % G]; // @grid_barrier
}

template <bool ok>
static void run_all()
{
  run(parents_of_a_search<ok>);
  run(labels_of_components<ok>);
  run(work_list<ok>);
  run(something_changed<ok>);
  run(ranks_over_ranks<ok>);
  run(degrees_of_16_bits<ok>);
  run(look_back<ok>);
  run(ticket_lock<ok>);
  run(locks_of_two_names<ok>);
  run(beside_another_flag<ok>);
  run(sequence_lock<ok>);
  run(ring<ok>);
  run(two_buffers_in_turn<ok>);
  run(first_block_sums<ok>);
  run(tiles_with_an_edge<ok>);
  run(bits_of_a_set<ok>);
  run(greatest_and_its_index<ok>);
  run(half_of_a_structure<ok>);
  run(leader_of_a_warp<ok>);
  run(byte_in_a_word<ok>);
  run(barrier_of_blocks<ok>);
  run(grid_barrier<ok>);
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "racy")) run_all<false>();
  else run_all<true>();
}
