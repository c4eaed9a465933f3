// SPDX-License-Identifier: Apache-2.0
// A matrix of 4096 x 4096 floats transposed in three ways. Row by row into columns, each thread of a warp writes to a
// row, and so to a sector, of its own. By way of a tile in shared memory both global accesses are in order; but in a
// tile of 32 columns a column lies in one of the 32 banks, so that a warp that reads one waits for 32 turns. A 33rd
// column that is not used spreads each column over all banks.
//
// run:
// expect: clean
//
// run: naive
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning uncoalesced ratio=8 cause=transposed line=LINE(naive)
//
// run: tile32
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: warning bank-conflict ratio=32 line=LINE(tile-load)
//
// run: tile33
// device: gpu
// options: --coalescing --coalescing-launches=all
// expect: silent
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr unsigned kSize = 4096, kTile = 32;

__device__ float value_of(unsigned row, unsigned column) { return static_cast<float>(row * kSize + column); }

__global__ void fill(float* matrix)
{
  unsigned column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  matrix[row * kSize + column] = value_of(row, column);
}

__global__ void transpose_naive(float* to, const float* from)
{
  unsigned column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  to[column * kSize + row] = from[row * kSize + column]; // @naive
}

template <unsigned columns>
__global__ void transpose_by_tile(float* to, const float* from)
{
  __shared__ float tile[kTile][columns];
  unsigned column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = from[row * kSize + column];
  __syncthreads();
  float value = tile[threadIdx.x][threadIdx.y]; // @tile-load
  unsigned to_column = blockIdx.y * kTile + threadIdx.x, to_row = blockIdx.x * kTile + threadIdx.y;
  to[to_row * kSize + to_column] = value;
}

__global__ void count_right(const float* matrix, unsigned* right)
{
  unsigned column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
  int in_block = __syncthreads_count(matrix[row * kSize + column] == value_of(column, row));
  if (threadIdx.x == 0 && threadIdx.y == 0)
    atomicAdd(right, in_block);
}

int main(int argc, char** argv)
{
  const char* how = argc > 1 ? argv[1] : "tile33";
  constexpr size_t bytes = size_t{kSize} * kSize * sizeof(float);
  const dim3 grid(kSize / kTile, kSize / kTile), block(kTile, kTile);
  float *from = nullptr, *to = nullptr;
  unsigned *device_right = nullptr, right = 0;
  CHECK(cudaMalloc(&from, bytes));
  CHECK(cudaMalloc(&to, bytes));
  CHECK(cudaMalloc(&device_right, sizeof right));
  CHECK(cudaMemset(device_right, 0, sizeof right));
  fill<<<grid, block>>>(from);
  if (std::strcmp(how, "naive") == 0)
    transpose_naive<<<grid, block>>>(to, from);
  else if (std::strcmp(how, "tile32") == 0)
    transpose_by_tile<kTile><<<grid, block>>>(to, from);
  else
    transpose_by_tile<kTile + 1><<<grid, block>>>(to, from);
  CHECK(cudaGetLastError());
  count_right<<<grid, block>>>(to, device_right);
  CHECK(cudaMemcpy(&right, device_right, sizeof right, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_right));
  CHECK(cudaFree(to));
  CHECK(cudaFree(from));
  std::printf("%s: %u of %u right\n", how, right, kSize * kSize);
  return right != kSize * kSize;
}
