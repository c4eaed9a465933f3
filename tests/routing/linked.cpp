// SPDX-License-Identifier: Apache-2.0
// A program linked to the driver. The first argument names the scene; results go to stdout, one a
// line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "cuda_calls.h"

namespace {

u64 allocate(u64 bytes) {
  u64 address = 0;
  std::printf("alloc %d\n", cuMemAlloc_v2(&address, bytes));
  return address;
}

void start() {
  u64 context = 0;
  std::printf("init %d\n", cuInit(0));
  std::printf("context %d\n", cuCtxCreate_v2(&context, 0, 0));
}

int sequence() {
  start();
  const u64 address = allocate(4096);
  char bytes[64] = {};
  std::printf("set %d\n", cuMemsetD8_v2(address, 1, 4096));
  std::printf("copy %d\n", cuMemcpyHtoD_v2(address, bytes, sizeof bytes));
  std::printf("free %d\nfree again %d\n", cuMemFree_v2(address), cuMemFree_v2(address));
  return 0;
}

// Optional and wrong arguments reach the driver as they are.
int nulls() {
  start();
  u64 address = 0x1234;
  std::printf("null out %d\n", cuMemAlloc_v2(nullptr, 16));
  std::printf("null pitch %d\n", cuMemAllocPitch_v2(&address, nullptr, 16, 16, 4));
  std::printf("too much %d\n", cuMemAlloc_v2(&address, 1ull << 60));
  std::printf("out is %llx\n", address);
  std::printf("free null %d\n", cuMemFree_v2(0));
  return 0;
}

int capture() {
  start();
  u64 graph = 0, address = 0;
  std::printf("begin %d\n", cuStreamBeginCapture_v2(1, 0));
  std::printf("alloc %d\n", cuMemAllocAsync(&address, 256, 1));
  std::printf("launch %d\n", cuLaunchKernel(0x77, 1, 1, 1, 1, 1, 1, 0, 1, nullptr, nullptr));
  std::printf("free %d\n", cuMemFreeAsync(address, 1));
  std::printf("end %d\n", cuStreamEndCapture(1, &graph));
  return 0;
}

int managed() {
  start();
  u64 address = 0;
  std::printf("managed %d\n", cuMemAllocManaged(&address, 512, 1));
  std::printf("free %d\n", cuMemFree_v2(address));
  return 0;
}

// Frees what main left, after main and after atexit handlers.
struct Late {
  u64 address = 0;
  ~Late() {
    if (address != 0) std::printf("late free %d\n", cuMemFree_v2(address));
  }
} late;
u64 at_exit_address = 0;

int after_main() {
  start();
  late.address = allocate(64);
  at_exit_address = allocate(32);
  std::atexit([] { std::printf("atexit free %d\n", cuMemFree_v2(at_exit_address)); });
  return 0;
}

int thrown() {
  start();
  for (int i = 0; i < 100; ++i) {
    try {
      allocate(16);
      throw std::runtime_error("through the program's own frames");
    } catch (const std::runtime_error& error) {
      if (i == 99) std::printf("%s\n", error.what());
    }
  }
  return 0;
}

// Asks the linked cuGetProcAddress_v2 before anything else has touched the driver.
int asked() {
  void* function = nullptr;
  std::printf("asked %d\n", cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, nullptr));
  u64 address = 0;
  std::printf("alloc %d\n", reinterpret_cast<MemAlloc>(function)(&address, 128));
  return 0;
}

struct Scene {
  const char* name;
  int (*play)();
};
constexpr Scene kScenes[] = {
  {"sequence", sequence},     {"nulls", nulls},   {"capture", capture}, {"managed", managed},
  {"after_main", after_main}, {"thrown", thrown}, {"asked", asked}};

} // namespace

int main(int argc, char** argv) {
  for (const Scene& scene : kScenes) {
    if (argc > 1 && std::strcmp(argv[1], scene.name) == 0) return scene.play();
  }
  return 9;
}
