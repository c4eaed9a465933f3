// SPDX-License-Identifier: Apache-2.0
// Memory of another API, imported by a file descriptor, and a buffer mapped from it. A real driver takes descriptors
// of its own graphics drivers only: there the memory is Vulkan's, and without Vulkan the program skips itself. On the
// simulated device any file of memory will do.
//
// run:
// expect: clean
// run: forgotten
// expect: error leak bytes=4096 count=1 stacks="allocated here"@map_buffer:LINE(map)
// run: twice
// expect: error double-free count=1 api=cudaFree stacks="allocated here"@map_buffer:LINE(map),"first freed here"@free_twice:LINE(first),"freed again here"@free_twice:LINE(again)
#include "answers.h"
#if __has_include(<vulkan/vulkan.h>)
#include "vulkan_memory.h"
#endif

#include <sys/mman.h>
#include <unistd.h>

constexpr size_t kBytes = 64 * 1024;

static bool is_simulated()
{
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0));
  return std::strstr(properties.name, "imulated") != nullptr;
}

static int file_of_memory()
{
  if (is_simulated()) {
    const int file = memfd_create("frames", MFD_CLOEXEC);
    return ftruncate(file, kBytes) == 0 ? file : -1;
  }
#if __has_include(<vulkan/vulkan.h>)
  return VulkanMemory::export_file(kBytes);
#else
  return -1;
#endif
}

static cudaExternalMemory_t import_file()
{
  cudaExternalMemoryHandleDesc desc{};
  cudaExternalMemory_t memory = nullptr;
  desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
  desc.handle.fd = file_of_memory();
  desc.size = kBytes;
  if (desc.handle.fd < 0) {
    std::puts("skipped: no Vulkan that has this device");
    std::exit(77);
  }
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
