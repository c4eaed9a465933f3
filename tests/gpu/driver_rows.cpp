// SPDX-License-Identifier: Apache-2.0
// Whether cuGetProcAddress(base, version, flag) gives the function that dlsym(symbol) gives, for
// every driver row of the table: the interposer may then translate whatever pointer comes back,
// without knowing anything of versions. Alone it tests the driver; under gpumemtrace it tests that
// both ways lead to the same entry of the interposer. Exit status: 0 equal, 1 not, 77 no GPU.
//
// Usage: driver_rows [--absent-rows-allowed]     for devices that lack some functions, as the
// simulated one
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Row {
  const char* symbol;
  const char* base;
  const char* introduced; // "11020" or "11020_ptsz"
};

constexpr Row kRows[] = {
#define DRV(symbol, base, introduced, ...) {#symbol, #base, #introduced},
#include "trace/cuda_api.def"
};

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t,
                                    CUdriverProcAddressQueryResult*);

bool per_thread(const Row& row) {
  return std::strstr(row.introduced, "_ptsz") != nullptr ||
         std::strstr(row.introduced, "_ptds") != nullptr;
}

} // namespace

int main(int argc, char** argv) {
  const bool absent_allowed = argc > 1 && std::strcmp(argv[1], "--absent-rows-allowed") == 0;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) {
    std::printf("skipped: no GPU: %s\n", dlerror());
    return 77;
  }
  const auto initialise = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"));
  if (initialise == nullptr || initialise(0) != CUDA_SUCCESS) {
    std::printf("skipped: no GPU: cuInit failed\n");
    return 77;
  }
  if (get == nullptr) {
    std::printf("the driver has no cuGetProcAddress_v2\n");
    return 1;
  }
  int equal = 0, different = 0, absent = 0;
  for (const Row& row : kRows) {
    void* by_name = dlsym(driver, row.symbol);
    void* by_version = nullptr;
    const cuuint64_t flag = per_thread(row) ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                            : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    get(row.base, &by_version, std::atoi(row.introduced), flag, nullptr);
    if (by_name == by_version && by_name != nullptr) {
      ++equal;
    } else if (by_name == nullptr && (absent_allowed || by_version == nullptr)) {
      std::printf("absent: %s\n", row.symbol);
      ++absent;
    } else {
      std::printf("different: %s: dlsym %p, cuGetProcAddress(%s, %s) %p\n", row.symbol, by_name,
                  row.base, row.introduced, by_version);
      ++different;
    }
  }
  std::printf("%d equal, %d different, %d absent\n", equal, different, absent);
  return different != 0 || equal == 0 || (absent != 0 && !absent_allowed) ? 1 : 0;
}
