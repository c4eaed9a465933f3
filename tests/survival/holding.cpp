// SPDX-License-Identifier: Apache-2.0
// Launches a kernel, or none, and ends its context or itself: holding KERNELS END
// [unwaited|thread]. It waits for the kernels, unless `unwaited` is given; with `thread` a detached
// one goes on to launch. Prints the time of CLOCK_MONOTONIC in ns right before the end, and right
// behind it where there is one.

#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <unistd.h>

namespace {

constexpr char kPtx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                        ".visible .entry nothing() { ret; }\n";

void print_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::printf("%lld\n", static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
  std::fflush(stdout);
}

} // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  if (cuModuleLoadData(&module, kPtx) != CUDA_SUCCESS) return 3;
  if (cuModuleGetFunction(&function, module, "nothing") != CUDA_SUCCESS) return 3;
  for (int i = std::atoi(words[1]); i > 0; --i)
    cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  if (count == 3) cuCtxSynchronize();
  if (count == 4 && std::strcmp(words[3], "thread") == 0) {
    std::thread([=] {
      cuCtxSetCurrent(context);
      for (;;) cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    }).detach();
  }
  print_time();
  if (std::strcmp(words[2], "_exit") == 0) _exit(0);
  if (std::strcmp(words[2], "reset") == 0) {
    cuDevicePrimaryCtxReset(0);
    print_time();
  }
  return 0;
}
