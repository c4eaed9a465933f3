// SPDX-License-Identifier: Apache-2.0
// Replacements of launches for --guard-check launch: each waits for the kernel and looks at the
// bytes beside all blocks, so that a change is found behind the launch that made it.
#include <cuda.h>

#include "interposer/guard/captures.h"
#include "interposer/guard/driver.h"
#include "interposer/guard/fence.h"
#include "interposer/guard/replacements/replacements.h"

namespace gmt::interposer {

namespace {

void check_now() noexcept {
  CUcontext context = nullptr;
  if (!guard_is_on() || any_capture() || guard_driver.current(&context) != 0) return;
  if (context == nullptr || guard_driver.synchronize() != 0) return; // the program learns of it
  check_live_blocks(context, trace::GuardMoment::kLaunch);
}

template <std::uint16_t Row, class... Args> struct CheckedLaunch {
  static CUresult call(Args... args) noexcept {
    const CUresult result = driver_row<CUresult(Args...)>(Row)(args...);
    if (result == CUDA_SUCCESS) check_now();
    return result;
  }
};

template <std::uint16_t Row, class... Args>
void install_row(Install install, CUresult (*)(Args...)) noexcept { // for its type alone
  install(Row, reinterpret_cast<void*>(&CheckedLaunch<Row, Args...>::call));
}

} // namespace

void install_launches(Install install) noexcept {
#define ROW(symbol, declared)                                                                      \
  install_row<trace::kApi_##symbol>(install, static_cast<decltype(&declared)>(nullptr))
  ROW(cuLaunchKernel, cuLaunchKernel);
  ROW(cuLaunchKernel_ptsz, cuLaunchKernel);
  ROW(cuLaunchKernelEx, cuLaunchKernelEx);
  ROW(cuLaunchKernelEx_ptsz, cuLaunchKernelEx);
  ROW(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel);
  ROW(cuLaunchCooperativeKernel_ptsz, cuLaunchCooperativeKernel);
  ROW(cuGraphLaunch, cuGraphLaunch);
  ROW(cuGraphLaunch_ptsz, cuGraphLaunch);
}

} // namespace gmt::interposer
