// SPDX-License-Identifier: Apache-2.0
// What one order of blocks hides, and --races-schedules shows: a race on a way that is taken only if blocks come in
// another order than they are numbered in, and a result that depends on the order. Each launch leaves what its own
// order gives.
//
// run: hidden
// device: simulated
// options: --races-schedules 8 --device-threads 1
// expect: error global-race message="seen in the order of --device-seed" stacks="accessed here"@take:LINE(unordered),"accessed here"@take:LINE(unordered),"launched here"@hidden:LINE(hidden),"allocated here"@hidden:LINE(tickets)
// run: last
// device: simulated
// options: --races-schedules 8 --device-threads 1
// expect: note global-race message="leaves another value"
// run: right
// device: simulated
// options: --races-schedules 8
// expect: clean
// run: open
// device: simulated
// options: --races-schedules 8
// expect: clean
#include "answers.h"

// Block 0 comes first in the order of numbers, and so on.
__global__ void take(int* tickets)
{
  if (threadIdx.x != 0) return;
  if (atomicAdd(&tickets[0], 1) == blockIdx.x) atomicAdd(&tickets[1], 1);
  else tickets[2] += 1; // @unordered
}

__global__ void win(int* winner)
{
  if (threadIdx.x == 0) atomicExch(winner, static_cast<int>(blockIdx.x));
}

// In each order the sums are the same.
__global__ void count(int* sum, int* table)
{
  atomicAdd(sum, 1);
  table[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x;
}

__global__ void add(float* sum) { atomicAdd(sum, 1.0f / (1 + blockIdx.x)); }

static void hidden()
{
  int *tickets, there[4] = {};
  CHECK(cudaMalloc(&tickets, sizeof there)); // @tickets
  CHECK(cudaMemset(tickets, 0, sizeof there));
  take<<<8, 32>>>(tickets); // @hidden
  CHECK(cudaMemcpy(there, tickets, sizeof there, cudaMemcpyDeviceToHost));
  ANSWERS(8, there[0]);
  ANSWERS(8, there[1]);
  ANSWERS(0, there[2]);
  CHECK(cudaFree(tickets));
}

static void last()
{
  int *winner, there = 0;
  CHECK(cudaMalloc(&winner, sizeof there)); // @winner
  CHECK(cudaMemset(winner, 0, sizeof there));
  win<<<8, 32>>>(winner); // @last
  CHECK(cudaMemcpy(&there, winner, sizeof there, cudaMemcpyDeviceToHost));
  ANSWERS(7, there);
  CHECK(cudaFree(winner));
}

static void right()
{
  int *sum, *table, there = 0;
  CHECK(cudaMalloc(&sum, sizeof there));
  CHECK(cudaMalloc(&table, 256 * sizeof there));
  CHECK(cudaMemset(sum, 0, sizeof there));
  for (int i = 0; i < 3; ++i) count<<<8, 32>>>(sum, table);
  CHECK(cudaMemcpy(&there, sum, sizeof there, cudaMemcpyDeviceToHost));
  ANSWERS(3 * 256, there);
  CHECK(cudaMemcpy(&there, table + 255, sizeof there, cudaMemcpyDeviceToHost));
  ANSWERS(7, there);
  CHECK(cudaFree(sum));
  CHECK(cudaFree(table));
}

static void open()
{
  float* sum;
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMemset(sum, 0, sizeof *sum));
  add<<<64, 32>>>(sum);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(sum));
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "hidden")) hidden();
  else if (started_with(argc, argv, "last")) last();
  else if (started_with(argc, argv, "right")) right();
  else open();
}
