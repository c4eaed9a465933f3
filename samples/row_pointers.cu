// SPDX-License-Identifier: Apache-2.0
// Rows of different lengths: each is an allocation of its own, and a table on the device holds their addresses, so
// that kernels can write table[row][column]. Only the table knows the rows: they must be fetched from it and freed
// before it goes.
// Variants: clean (or no word); table-first: the table is freed first, and the rows are lost with it.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: table-first
// expect: error leak bytes=34816 count=16 stacks="allocated here"@make_row:LINE(alloc-row)
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kRows = 16;
constexpr int kStep = 256; // row r is (r + 1) * kStep bytes long

__global__ void number_rows(unsigned char** table, int rows)
{
  int row = blockIdx.x;
  if (row < rows)
    for (int column = threadIdx.x; column < (row + 1) * kStep; column += blockDim.x)
      table[row][column] = static_cast<unsigned char>(row);
}

static unsigned char* make_row(int row)
{
  unsigned char* memory = nullptr;
  size_t bytes = static_cast<size_t>(row + 1) * kStep;
  CHECK(cudaMalloc(&memory, bytes)); // @alloc-row
  CHECK(cudaMemset(memory, 0xff, bytes));
  return memory;
}

static unsigned char** make_table()
{
  unsigned char* rows[kRows];
  unsigned char** table = nullptr;
  // Volatile, so that the compiler keeps one loop and with it one call site for all rows.
  volatile int count = kRows;
  for (int row = 0; row < count; ++row)
    rows[row] = make_row(row);
  CHECK(cudaMalloc(&table, sizeof rows));
  CHECK(cudaMemcpy(table, rows, sizeof rows, cudaMemcpyHostToDevice));
  return table;
}

static void free_rows(unsigned char** table)
{
  unsigned char* rows[kRows];
  CHECK(cudaMemcpy(rows, table, sizeof rows, cudaMemcpyDeviceToHost));
  for (unsigned char* row : rows)
    CHECK(cudaFree(row));
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  unsigned char** table = make_table();
  number_rows<<<kRows, 128>>>(table, kRows);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  if (std::strcmp(variant, "table-first") != 0)
    free_rows(table);
  CHECK(cudaFree(table));
  std::printf("%d rows numbered\n", kRows);
  return 0;
}
