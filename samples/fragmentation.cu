// SPDX-License-Identifier: Apache-2.0
// Most of the device's memory is taken in blocks of two alternating sizes; then every small one is freed. What is free
// now lies in many holes. The next request asks for more than all of them together and fails; the report says who
// holds the memory, how much is free and how large the largest hole is.
// Variants: clean (or no word): the request fits into one hole; too-large: it asks for more than all holes together;
//   fragmented: it asks for less than all of them, but more than the largest. A driver that maps pages as it likes can
//   serve that, as an H200's does; one that needs a contiguous piece cannot.
//
// A part of each block is used on purpose, which `oversized` would report.
// run:
// options: --skip oversized
// expect: clean
// run: clean
// options: --skip oversized
// expect: clean
// run: too-large
// options: --skip oversized
// expect: warning out-of-memory count=1 api=cudaMalloc message="largest piece" stacks="failed here"@grow_table:LINE(grow),"held here"@take
// run: fragmented
// options: --skip oversized
// expect-simulated: warning out-of-memory count=1 api=cudaMalloc message="not in one piece" stacks="failed here"@grow_table:LINE(grow),"held here"@take
// expect-real: clean
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr size_t kPage = 2 * 1024 * 1024; // the driver hands out physical memory in pages of this size

static char* take(size_t bytes)
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, bytes));
  // A part is enough to count as used, and no simulated device has to fill gigabytes.
  CHECK(cudaMemset(block, 0, 4096));
  return block;
}

static void release(std::vector<char*>& blocks)
{
  for (char* block : blocks)
    CHECK(cudaFree(block));
  blocks.clear();
}

static char* grow_table(size_t bytes)
{
  char* table = nullptr;
  TRY(cudaMalloc(&table, bytes)); // @grow
  if (table != nullptr)
    CHECK(cudaMemset(table, 0, 4096));
  return table;
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  auto is = [&](const char* word) { return !std::strcmp(variant, word); };
  size_t free_bytes = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &total));

  // Ten pairs of one and two parts: 30 of 32 parts are taken.
  size_t part = free_bytes / 32 / kPage * kPage;
  std::vector<char*> small, large;
  for (int pair = 0; pair < 10; ++pair) {
    small.push_back(take(part));
    large.push_back(take(2 * part));
  }
  release(small);
  CHECK(cudaMemGetInfo(&free_bytes, &total));
  std::printf("free: %zu of %zu MiB, in holes of %zu MiB\n", free_bytes >> 20, total >> 20, part >> 20);

  char* table = grow_table(is("too-large") ? free_bytes + kPage : is("fragmented") ? 4 * part : part / 2);
  std::printf("the table %s\n", table != nullptr ? "fits" : "does not fit");
  CHECK(cudaFree(table));
  release(large);
  return 0;
}
