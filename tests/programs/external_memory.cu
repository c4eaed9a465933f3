// SPDX-License-Identifier: Apache-2.0
// Memory of another API, imported by a file descriptor, and a buffer mapped from it. A real driver takes descriptors
// of its own graphics drivers only, so this needs the simulated device, where any file of memory will do.
//
// run:
// device: simulated
// expect: clean
// run: forgotten
// device: simulated
// expect: error leak bytes=4096 count=1 stacks="allocated here"@map_buffer:LINE(map)
// run: twice
// device: simulated
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@map_buffer:LINE(map),"first freed here"@free_twice:LINE(first),"freed again here"@free_twice:LINE(again)
#include "answers.h"

#include <sys/mman.h>
#include <unistd.h>

constexpr size_t kBytes = 64 * 1024;

static cudaExternalMemory_t import_file()
{
  cudaExternalMemoryHandleDesc desc{};
  cudaExternalMemory_t memory = nullptr;
  desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
  desc.handle.fd = memfd_create("frames", MFD_CLOEXEC);
  desc.size = kBytes;
  if (ftruncate(desc.handle.fd, kBytes) != 0)
    std::exit(1);
  CHECK(cudaImportExternalMemory(&memory, &desc));
  return memory;
}

static void* map_buffer(cudaExternalMemory_t memory)
{
  cudaExternalMemoryBufferDesc desc{};
  void* buffer = nullptr;
  desc.offset = 8192;
  desc.size = 4096;
  CHECK(cudaExternalMemoryGetMappedBuffer(&buffer, memory, &desc)); // @map
  TOUCH(buffer, 4096);
  return buffer;
}

static void free_twice(void* buffer)
{
  CHECK(cudaFree(buffer)); // @first
  ANSWERS(cudaErrorInvalidValue, cudaFree(buffer)); // @again
}

int main(int argc, char** argv)
{
  CHECK(cudaFree(nullptr));
  cudaExternalMemory_t memory = import_file();
  void* buffer = map_buffer(memory);
  if (started_with(argc, argv, "twice"))
    free_twice(buffer);
  else if (!started_with(argc, argv, "forgotten"))
    CHECK(cudaFree(buffer));
  CHECK(cudaDestroyExternalMemory(memory));
  return 0;
}
