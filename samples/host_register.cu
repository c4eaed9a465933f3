// SPDX-License-Identifier: Apache-2.0
// Memory that the program already has is pinned in place by cudaHostRegister, so that copies from it are fast and
// may overlap with kernels, and is given back to the pager by cudaHostUnregister.
// Variants: clean (or no word); twice: two owners of one buffer both unregister it; forgotten: neither does;
// freed: a buffer of malloc() goes back to it while it is still registered, and stays pinned.
//
// run:
// expect: clean
// run: clean
// expect: clean
// run: twice
// expect: error double-free count=1 api=cudaHostUnregister stacks="registered here"@pin:LINE(register),"first unregistered here"@unpin:LINE(unregister),"unregistered again here"@close_file:LINE(again)
// run: forgotten
// expect: error leak bytes=65536 count=1 stacks="registered here"@pin:LINE(register)
// run: freed
// expect: error leak bytes=65536 count=1 stacks="registered here"@pin:LINE(register),"host memory freed here"@free_while_registered:LINE(free)
#include <cstdio>
#include <cstdlib>
#include <cstring>

// CHECK ends the program; TRY says what failed and goes on, as the faulty variants must reach their end.
#define FAILED(result) std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(result))
#define CHECK(call) do { if (cudaError_t r = (call)) { FAILED(r); std::exit(1); } } while (0)
#define TRY(call) do { if (cudaError_t r = (call)) { FAILED(r); (void)cudaGetLastError(); } } while (0)

constexpr size_t kBytes = 64 * 1024;

// Stands for a file that was mapped at start: memory that outlives every user, so it is never given to free().
alignas(4096) static unsigned char file_contents[kBytes];

static void pin(void* memory)
{
  CHECK(cudaHostRegister(memory, kBytes, cudaHostRegisterDefault)); // @register
}

static void unpin(void* memory)
{
  CHECK(cudaHostUnregister(memory)); // @unregister
}

static void close_file(void* memory)
{
  TRY(cudaHostUnregister(memory)); // @again
}

static void upload_and_return(unsigned char* memory)
{
  unsigned char* device = nullptr;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&device, kBytes));
  CHECK(cudaMemcpyAsync(device, memory, kBytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyAsync(memory, device, kBytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(device));
  CHECK(cudaStreamDestroy(stream));
}

// The allocator may hand these pages out again while the driver still pins them.
static void free_while_registered()
{
  auto* buffer = static_cast<unsigned char*>(std::malloc(kBytes));
  std::memset(buffer, 7, kBytes);
  pin(buffer);
  upload_and_return(buffer);
  std::free(buffer); // @free
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  std::memset(file_contents, 7, kBytes);
  pin(file_contents);
  upload_and_return(file_contents);
  if (std::strcmp(variant, "forgotten") != 0)
    unpin(file_contents);
  if (!std::strcmp(variant, "twice"))
    close_file(file_contents);
  if (!std::strcmp(variant, "freed"))
    free_while_registered();
  std::printf("first byte %d, last byte %d\n", file_contents[0], file_contents[kBytes - 1]);
  return file_contents[0] == 7 && file_contents[kBytes - 1] == 7 ? 0 : 1;
}
