// SPDX-License-Identifier: Apache-2.0
// The address of a __device__ variable is device memory that nobody allocated: copies to it are fine, freeing it is not.
// Copies past its end are refused by the runtime, at the first use of the variable as at later ones; a static runtime
// cannot be watched.
//
// run:
// expect: clean
// run: free
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@free_table:LINE(free),"looked up here"@free_table
// run: past
// expect-shared: error copy-out-of-bounds count=1 api=cudaMemcpyToSymbol stacks="looked up here"@write_past,"copied here"@write_past:LINE(past)
// expect-static: clean
// run: read-past
// expect: error copy-out-of-bounds count=1 api=cudaMemcpyFromSymbolAsync stacks="looked up here","copied here"@read_past:LINE(read-past)
#include "answers.h"

__device__ int table[64];

static void free_table()
{
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, table));
  ANSWERS(cudaErrorInvalidValue, cudaFree(address)); // @free
}

__attribute__((noinline)) static void write_past(const int* values)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, sizeof table, 4)); // @past
}

__attribute__((noinline)) static void read_past(int* back)
{
  constexpr auto kDown = cudaMemcpyDeviceToHost;
  ANSWERS(cudaErrorInvalidValue, cudaMemcpyFromSymbolAsync(back, table, sizeof table, 4, kDown, nullptr)); // @read-past
}

int main(int argc, char** argv)
{
  int values[64] = {1, 2, 3};
  int back[64] = {};
  if (started_with(argc, argv, "past"))
    write_past(values);
  CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
  if (started_with(argc, argv, "read-past"))
    read_past(back);
  if (started_with(argc, argv, "free"))
    free_table();
  return std::memcmp(values, back, sizeof values) != 0;
}
