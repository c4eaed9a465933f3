// SPDX-License-Identifier: Apache-2.0
// A program that is not linked to the driver and looks it up by name, in the way its first argument
// says. Prints what it was answered; addresses of one name are compared, not printed.
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/mman.h>

#include "cuda_calls.h"

namespace {

void* open_driver() {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) std::printf("no driver: %s\n", dlerror());
  return handle;
}

template <class F> F look_up(void* handle, const char* name) {
  return reinterpret_cast<F>(dlsym(handle, name));
}

void use(MemAlloc allocate, MemFree release) {
  u64 address = 0;
  std::printf("alloc %d\n", allocate(&address, 640));
  std::printf("free %d\n", release(address));
}

int by_dlsym() {
  void* driver = open_driver();
  use(look_up<MemAlloc>(driver, "cuMemAlloc_v2"), look_up<MemFree>(driver, "cuMemFree_v2"));
  std::printf("missing %d\n", dlsym(driver, "cuNoSuchFunction") == nullptr);
  const char* error = dlerror();
  std::printf("error %d\n", error != nullptr && std::strstr(error, "cuNoSuchFunction") != nullptr);
  return 0;
}

// RTLD_GLOBAL, then RTLD_DEFAULT and the program's own handle.
int by_global() {
  dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  use(look_up<MemAlloc>(RTLD_DEFAULT, "cuMemAlloc_v2"),
      look_up<MemFree>(RTLD_DEFAULT, "cuMemFree_v2"));
  void* self = dlopen(nullptr, RTLD_NOW);
  use(look_up<MemAlloc>(self, "cuMemAlloc_v2"), look_up<MemFree>(self, "cuMemFree_v2"));
  return 0;
}

// A program that asks whether CUDA is in the process hears the truth.
int probe() {
  void* self = dlopen(nullptr, RTLD_NOW);
  std::printf("own handle, driver: %s\n", dlsym(self, "cuMemAlloc_v2") == nullptr ? "no" : "yes");
  const char* error = dlerror();
  std::printf("error names it: %d\n",
              error != nullptr && std::strstr(error, "cuMemAlloc_v2") != nullptr);
  std::printf("own handle, runtime: %s\n", dlsym(self, "cudaMalloc") == nullptr ? "no" : "yes");
  std::printf("own handle, dlsym: %s\n", dlsym(self, "dlsym") == nullptr ? "no" : "yes");
  return 0;
}

int by_proc_address() {
  void* driver = open_driver();
  auto ask = look_up<GetProcAddress2>(driver, "cuGetProcAddress_v2");
  void *allocate = nullptr, *release = nullptr, *again = nullptr, *old = nullptr;
  int status = -1;
  std::printf("alloc: %d", ask("cuMemAlloc", &allocate, 12000, 0, &status));
  std::printf(" status %d\n", status);
  std::printf("free: %d\n", ask("cuMemFree", &release, 12000, 0, nullptr));
  use(reinterpret_cast<MemAlloc>(allocate), reinterpret_cast<MemFree>(release));
  std::printf("itself: %d", ask("cuGetProcAddress", &again, 12000, 0, nullptr));
  std::printf(" same %d\n", again == reinterpret_cast<void*>(ask));
  std::printf("old self: %d\n", ask("cuGetProcAddress", &old, 11030, 0, nullptr));
  reinterpret_cast<GetProcAddress>(old)("cuMemAlloc", &allocate, 12000, 0);
  reinterpret_cast<GetProcAddress>(old)("cuMemFree", &release, 12000, 0);
  use(reinterpret_cast<MemAlloc>(allocate), reinterpret_cast<MemFree>(release));
  reinterpret_cast<GetProcAddress2>(again)("cuMemAllocAsync", &allocate, 12000, 2, nullptr);
  reinterpret_cast<GetProcAddress2>(again)("cuMemFreeAsync", &release, 12000, 2, nullptr);
  u64 address = 0;
  std::printf("per thread %d",
              reinterpret_cast<int (*)(u64*, u64, u64)>(allocate)(&address, 99, 0));
  std::printf(" %d\n", reinterpret_cast<int (*)(u64, u64)>(release)(address, 0));
  return 0;
}

int odd_requests() {
  auto ask = look_up<GetProcAddress2>(open_driver(), "cuGetProcAddress_v2");
  void* function = &function;
  int status = -1;
  std::printf("null name %d\n", ask(nullptr, &function, 12000, 0, &status));
  std::printf("null out %d\n", ask("cuMemAlloc", nullptr, 12000, 0, &status));
  std::printf("empty %d", ask("", &function, 12000, 0, &status));
  std::printf(" %p %d\n", function, status);
  std::printf("unknown %d", ask("cuNoSuchFunction", &function, 12000, 0, &status));
  std::printf(" %p %d\n", function, status);
  std::printf("too old %d", ask("cuMemAllocAsync", &function, 10000, 0, &status));
  std::printf(" %p %d\n", function, status);
  std::printf("no row %d", ask("cuDriverGetVersion", &function, 12000, 0, &status));
  int version = 0;
  reinterpret_cast<int (*)(int*)>(function)(&version);
  std::printf(" version %d\n", version);
  return 0;
}

// Closes the driver and opens it again, between uses.
int reload() {
  for (int i = 0; i < 3; ++i) {
    void* driver = open_driver();
    use(look_up<MemAlloc>(driver, "cuMemAlloc_v2"), look_up<MemFree>(driver, "cuMemFree_v2"));
    std::printf("close %d\n", dlclose(driver));
    void* filler = dlopen("libm.so.6", RTLD_NOW);
    if (filler == nullptr) return 1;
  }
  return 0;
}

// Runtime 12 in the global scope, 13 opened beside it: who asks 13 by its handle gets 13.
int two_runtimes(const char* runtime_12, const char* runtime_13) {
  dlopen(runtime_12, RTLD_NOW | RTLD_GLOBAL);
  void* newer = dlopen(runtime_13, RTLD_NOW | RTLD_LOCAL);
  auto allocate = look_up<int (*)(void**, u64)>(newer, "cudaMalloc");
  void* address = nullptr;
  std::printf("by handle %d\n", allocate(&address, 1300));
  allocate = look_up<int (*)(void**, u64)>(RTLD_DEFAULT, "cudaMalloc");
  std::printf("by scope %d\n", allocate(&address, 1200));
  return 0;
}

// Closes a runtime and opens it again at another address.
int reload_runtime(const char* path) {
  for (int i = 0; i < 4; ++i) {
    void* runtime = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto allocate = look_up<int (*)(void**, u64)>(runtime, "cudaMalloc");
    void* address = nullptr;
    std::printf("alloc %d\n", allocate(&address, 100));
    dlclose(runtime);
    if (mmap(nullptr, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return 1;
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "dlsym") return by_dlsym();
  if (way == "global") return by_global();
  if (way == "probe") return probe();
  if (way == "proc_address") return by_proc_address();
  if (way == "odd_requests") return odd_requests();
  if (way == "reload") return reload();
  if (way == "reload_runtime" && argc > 2) return reload_runtime(argv[2]);
  if (way == "two_runtimes" && argc > 3) return two_runtimes(argv[2], argv[3]);
  return 9;
}
