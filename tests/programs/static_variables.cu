// SPDX-License-Identifier: Apache-2.0
// The address of a __device__ variable is device memory that nobody allocated: copies to it are fine, freeing it is not.
//
// run:
// expect: clean
// run: free
// expect: error invalid-free count=1 api=cudaFree stacks="freed here"@free_table:LINE(free),"looked up here"@free_table
#include "answers.h"

__device__ int table[64];

static void free_table()
{
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, table));
  ANSWERS(cudaErrorInvalidValue, cudaFree(address)); // @free
}

int main(int argc, char** argv)
{
  int values[64] = {1, 2, 3};
  int back[64] = {};
  CHECK(cudaMemcpyToSymbol(table, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(back, table, sizeof back));
  if (started_with(argc, argv, "free"))
    free_table();
  return std::memcmp(values, back, sizeof values) != 0;
}
