// SPDX-License-Identifier: Apache-2.0
// The C library's free(), realloc() and delete on memory that is CUDA's: the C library ends the program there, the finding stands.
// free() of memory that is registered is allowed, and after its end the address is anybody's.
//
// run: pinned
// exit: signal 11
// expect: error mismatched-free count=1 api=free message="cudaFreeHost" stacks="allocated here"@pinned:LINE(pinned),"host memory freed here"@pinned:LINE(free-pinned)
// not-checked: leak
// run: realloc
// exit: signal 11
// expect: error mismatched-free count=1 api=realloc message="cudaFreeHost" stacks="allocated here"@grown:LINE(grown),"host memory freed here"@grown:LINE(realloc-pinned)
// not-checked: leak
// run: managed
// exit-simulated: signal 6
// exit-real: signal 11
// expect: error mismatched-free count=1 api=free message="cudaFree" stacks="allocated here"@managed:LINE(managed),"host memory freed here"@managed:LINE(delete-managed)
// not-checked: leak
// run: registered
// expect: clean
// run: right
// expect: clean
#include "answers.h"

#include <cstdlib>
#include <new>

// At -O0 and -O2 alike the caller of free() has a frame of its own.
#define FRAME __attribute__((noinline, noclone))

FRAME static void pinned()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @pinned
  TOUCH(block, 4096);
  std::free(block); // @free-pinned
  std::puts("free() came back");
}

FRAME static void grown()
{
  void* block = nullptr;
  CHECK(cudaMallocHost(&block, 4096)); // @grown
  TOUCH(block, 4096);
  block = std::realloc(block, 8192); // @realloc-pinned
  std::printf("realloc() came back with %p\n", block);
}

FRAME static void managed()
{
  int* block = nullptr;
  CHECK(cudaMallocManaged(&block, 4096)); // @managed
  TOUCH(block, 4096);
  delete block; // @delete-managed
  std::puts("delete came back");
}

// The block outlives its registration in CUDA's eyes; unregistering it afterwards ends that.
FRAME static void registered()
{
  void* volatile block = std::malloc(1 << 20); // the compiler must not see what follows
  CHECK(cudaHostRegister(block, 1 << 20, cudaHostRegisterDefault));
  TOUCH(block, 1 << 20);
  std::free(block);
  CHECK(cudaHostUnregister(block));
}

// Everything by the right call, and ordinary memory in between.
FRAME static void right()
{
  for (int i = 0; i < 100; ++i) {
    void *one = nullptr, *two = nullptr, *three = std::malloc(4096);
    CHECK(cudaMallocHost(&one, 4096));
    CHECK(cudaMallocManaged(&two, 4096));
    CHECK(cudaHostRegister(three, 4096, cudaHostRegisterDefault));
    TOUCH(one, 4096);
    TOUCH(two, 4096);
    TOUCH(three, 4096);
    delete[] new int[16]{i};
    CHECK(cudaHostUnregister(three));
    std::free(three);
    CHECK(cudaFree(two));
    CHECK(cudaFreeHost(one));
  }
}

int main(int argc, char** argv)
{
  if (started_with(argc, argv, "pinned")) pinned();
  if (started_with(argc, argv, "realloc")) grown();
  if (started_with(argc, argv, "managed")) managed();
  if (started_with(argc, argv, "registered")) registered();
  if (started_with(argc, argv, "right")) right();
  return 0;
}
