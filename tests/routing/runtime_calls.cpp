// SPDX-License-Identifier: Apache-2.0
// A program of the runtime, linked to the static, the shared or the simulated one. Prints what it
// was answered.
#include <cstdio>

#include <cuda_runtime_api.h>

int main() {
  void* address = nullptr;
  char bytes[64] = {};
  std::printf("malloc %d\n", cudaMalloc(&address, 4096));
  std::printf("copy %d\n", cudaMemcpy(address, bytes, sizeof bytes, cudaMemcpyHostToDevice));
  std::printf("set %d\n", cudaMemset(address, 1, 64));
  std::printf("free %d\n", cudaFree(address));
  std::printf("nothing %d\n", cudaMalloc(&address, 0));
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  const int asked =
    cudaGetDriverEntryPointByVersion("cuMemAlloc", &entry, 12000, cudaEnableDefault, &status);
  std::printf("entry point %d %d\n", asked, static_cast<int>(status));
  if (asked == 0 && status == cudaDriverEntryPointSuccess) {
    unsigned long long direct = 0;
    std::printf("direct %d\n", reinterpret_cast<int (*)(unsigned long long*, unsigned long long)>(
                                 entry)(&direct, 77));
    std::printf("free %d\n", cudaFree(reinterpret_cast<void*>(direct)));
  }
  return 0;
}
