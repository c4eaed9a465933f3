// SPDX-License-Identifier: Apache-2.0
// --only-kernels, --skip-kernels, --checked-launches, --launches, --range and --processes: of which kernels, and of which
// of their launches, mistakes are reported. The simulated device checks by itself here; in the runs of --kernel-checks the
// code of the kernels does.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: own
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --only-kernels "ns::step<int>"
// expect: error kernel-out-of-bounds count=4 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(ints),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: skipped
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --skip-kernels "step,/^fre.h/"
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: first
// device: simulated
// options: check --checked-launches 1 --skip-kernels "last,step"
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// expect: warning kernel-uninitialized-read count=1 stacks="accessed here"@fresh:LINE(fresh),"used here"@fresh:LINE(fresh),"launched here"@main:LINE(fresh-launch),"allocated here"@main:LINE(unwritten)
// expect: error leak count=1
// not-checked: global-race
// run: launches
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --launches 2..3 --processes "other,kernel_choice*" --skip-kernels last,fresh
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(ints),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(floats),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: profiler
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --range profiler --skip-kernels fresh
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: range
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --range "the last" --skip-kernels fresh
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: recorded
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --record-range "the last" --skip-kernels fresh
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// not-checked: calls outside of the range
// run: late
// unlike-late: it says itself that work runs late
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --range "the last" --skip-kernels fresh --late 20ms
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: global-race
// run: processes
// device: simulated
// env: GPUMEMTRACE_SIM_AFTER_FAULT=continue
// options: check --processes other
// expect: error leak count=1
// not-checked: global-race
// run: code
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks --only-kernels "step<float>" --checked-launches 2
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(floats),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: kernel-out-of-bounds
// run: code-launches
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks --launches 2..3 --processes "other,kernel_choice*" --skip-kernels last,fresh
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(ints),"allocated here"@main:LINE(block)
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@step:LINE(step),"launched here"@main:LINE(floats),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: kernel-out-of-bounds
// run: code-range
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks --range "the last" --skip-kernels fresh
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: kernel-out-of-bounds
// run: code-profiler
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks --range profiler --skip-kernels fresh
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@last:LINE(last),"launched here"@main:LINE(last-launch),"allocated here"@main:LINE(block)
// expect: error leak count=1
// not-checked: kernel-out-of-bounds
// run: code-processes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks --processes other
// expect: error leak count=1
// not-checked: kernel-out-of-bounds
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

namespace ns {
template <class T> __global__ void step(T* a, int n) {
  a[threadIdx.x + n] = T(1); // @step
}
} // namespace ns

__global__ void last(const int* a, int* sum, int n) {
  sum[0] = a[n]; // @last
}

__global__ void fresh(const int* a, int* sum, int i) {
  sum[0] += a[i]; // @fresh
}

int main() {
  constexpr int kCount = 256;
  void* block = nullptr;
  cudaMalloc(&block, kCount * sizeof(int)); // @block
  int* unwritten = nullptr;
  cudaMalloc(&unwritten, 8 * sizeof(int)); // @unwritten
  cudaMemset(block, 0, kCount * sizeof(int));
  for (int i = 0; i < 4; ++i)
    fresh<<<1, 1>>>(unwritten, static_cast<int*>(block), i); // @fresh-launch
  for (int i = 0; i < 4; ++i) {
    ns::step<<<1, 1>>>(static_cast<int*>(block), kCount);   // @ints
    ns::step<<<1, 1>>>(static_cast<float*>(block), kCount); // @floats
  }
  nvtxRangePushA("the last");
  cudaProfilerStart();
  last<<<1, 1>>>(static_cast<int*>(block), static_cast<int*>(block), kCount); // @last-launch
  cudaProfilerStop();
  nvtxRangePop();
  cudaDeviceSynchronize();
  cudaFree(unwritten);
  return 0;
}
