// SPDX-License-Identifier: Apache-2.0
// Bytes that nothing wrote and that reach the host, which the simulated device sees; and copies of
// memory that kernels wrote where no recorded call says so, of padding and of rows, which are right.
//
// run: moved
// device: simulated
// expect: warning uninitialized-read count=1 bytes=128 message="which nothing has written: no copy, no set and no kernel, unless with bytes that nothing wrote either" stacks="copied here"@read:LINE(read),"allocated here"@main:LINE(to)
// run: doubled
// device: simulated
// expect: warning kernel-uninitialized-read count=32 stacks="accessed here"@doubled:LINE(doubled),"used here"@doubled:LINE(doubled),"launched here"@main:LINE(launch-doubled),"allocated here"@main:LINE(from)
// run: masked
// device: simulated
// expect: warning kernel-uninitialized-read count=32 stacks="accessed here"@masked:LINE(masked),"used here"@masked:LINE(masked),"launched here"@main:LINE(launch-masked),"allocated here"@main:LINE(from)
// run: tile
// device: simulated
// expect: warning uninitialized-read count=1 bytes=48 message="and nothing has written 48 of them: " stacks="copied here"@read:LINE(read),"allocated here"@main:LINE(to)
// run: hole
// device: simulated
// expect: warning uninitialized-read count=1 bytes=40 stacks="copied here"@read:LINE(read),"allocated here"@main:LINE(to)
// run: tail
// unlike-fenced: its blocks are longer than what was asked for
// device: simulated
// expect: note uninitialized-read count=1 bytes=64 message="nothing has written 64 of them at its end" stacks="copied here"@read:LINE(read),"allocated here"@main:LINE(to)
// run: whole
// expect: silent
// run: found
// expect-simulated: silent
// expect-real: clean
// run: constant
// expect-simulated: silent
// expect-real: clean
// run: padding
// expect: silent
// run: rows
// expect: silent
// run: fields
// expect: silent
// run: packed
// expect: silent
// run: set
// expect: silent
// run: written-copied
// expect: silent
#include "answers.h"

struct Padded {
  char letter;
  double number;
};
struct Fields {
  unsigned low : 4, middle : 12, high : 16;
};

__constant__ int* where;

__global__ void moved(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void doubled(const int* from, int* to)
{
  to[threadIdx.x] = 2 * from[threadIdx.x]; // @doubled
}
__global__ void masked(const int* from, int* to)
{
  to[threadIdx.x] = from[threadIdx.x] & 0x7ffffff3; // @masked
}
__global__ void tile(int* to)
{
  __shared__ int values[32];
  if (threadIdx.x < 20) values[threadIdx.x] = 1;
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}
__global__ void fill(int* to, unsigned from, unsigned until)
{
  if (threadIdx.x < from || threadIdx.x >= until) to[threadIdx.x] = threadIdx.x;
}
__global__ void fill_found(int* const* to) { (*to)[threadIdx.x] = 1; }
__global__ void fill_constant() { where[threadIdx.x] = 1; }
__global__ void set_members(Padded* to)
{
  to[threadIdx.x].letter = 'a';
  to[threadIdx.x].number = 1;
}
__global__ void set_fields(Fields* to)
{
  Fields* mine = to + threadIdx.x;
  mine->low = 1;
  mine->middle = 2;
  mine->high = 3;
}
// Puts words together from bytes, of which some are not written.
__global__ void pack(const unsigned char* from, unsigned* to)
{
  const unsigned char* mine = from + 4 * threadIdx.x;
  to[threadIdx.x] = mine[0] | mine[1] << 8 | mine[2] << 16 | static_cast<unsigned>(mine[3]) << 24;
}

static void read(const void* from, size_t bytes)
{
  char host[1024];
  CHECK(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost)); // @read
}

static void rows()
{
  char* memory = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(reinterpret_cast<void**>(&memory), &pitch, 100, 2));
  CHECK(cudaMemset2D(memory, pitch, 0, 100, 2));
  moved<<<1, 8>>>(reinterpret_cast<int*>(memory), reinterpret_cast<int*>(memory + pitch));
  char host[200];
  CHECK(cudaMemcpy2D(host, 100, memory, pitch, 100, 2, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(memory));
}

static void padding()
{
  Padded *all = nullptr, host[8];
  CHECK(cudaMalloc(&all, sizeof host));
  set_members<<<1, 8>>>(all);
  CHECK(cudaMemcpy(host, all, sizeof host, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(host, all, sizeof host[0], cudaMemcpyDeviceToHost));
  CHECK(cudaFree(all));
}

static void found()
{
  int *values = nullptr, **box = nullptr;
  CHECK(cudaMalloc(&values, 128));
  CHECK(cudaMalloc(&box, sizeof values));
  CHECK(cudaMemcpy(box, &values, sizeof values, cudaMemcpyHostToDevice));
  fill_found<<<1, 32>>>(box);
  read(values, 128);
  CHECK(cudaFree(values));
  CHECK(cudaFree(box));
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  if (is("rows")) return rows(), 0;
  if (is("padding")) return padding(), 0;
  if (is("found")) return found(), 0;
  int *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, 128)); // @from
  CHECK(cudaMalloc(&to, 128));   // @to
  if (is("moved")) moved<<<1, 32>>>(from, to);
  if (is("doubled")) doubled<<<1, 32>>>(from, to); // @launch-doubled
  if (is("masked")) masked<<<1, 32>>>(from, to);   // @launch-masked
  if (is("tile")) tile<<<1, 32>>>(to);
  if (is("hole")) fill<<<1, 32>>>(to, 10, 20);
  if (is("tail")) fill<<<1, 32>>>(to, 16, 32);
  if (is("whole")) fill<<<1, 32>>>(to, 0, 0);
  if (is("fields")) set_fields<<<1, 32>>>(reinterpret_cast<Fields*>(to));
  if (is("constant")) {
    CHECK(cudaMemcpyToSymbol(where, &to, sizeof to));
    fill_constant<<<1, 32>>>();
  }
  if (is("packed")) {
    CHECK(cudaMemset2D(from, 4, 1, 3, 32));
    pack<<<1, 32>>>(reinterpret_cast<unsigned char*>(from), reinterpret_cast<unsigned*>(to));
  }
  if (is("set")) CHECK(cudaMemset(to, 0, 128));
  if (is("written-copied")) {
    fill<<<1, 32>>>(from, 0, 0);
    CHECK(cudaMemcpy(to, from, 128, cudaMemcpyDeviceToDevice));
  }
  read(to, 128);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return 0;
}
