// SPDX-License-Identifier: Apache-2.0
// The functions of the driver that launch a kernel, as one: what the program asks for, and the
// driver's own way to do it.
#pragma once

#include <span>

#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

struct AskedLaunch {
  CUfunction function;
  Shape shape;
  unsigned shared_bytes; // dynamic
  void **parameters, **extra;
  bool is_cooperative = false;
  std::uint32_t cluster[3] = {}; // 0: as the kernel says
};

// Hook::run(asked, real) stands in their place; `real(form, parameters, extra)` is the driver's, of
// the kernel or another form of it.
template <class Hook> struct LaunchFunctions {
  template <Name kName>
  static CUresult launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared, CUstream stream,
                         void** parameters, void** extra) noexcept {
    const Shape shape{{gx, gy, gz}, {bx, by, bz}, named_stream(stream, kName.text)};
    const AskedLaunch asked{function, shape, shared, parameters, extra};
    return Hook::run(asked, [=](CUfunction form, void** list, void** more) {
      return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 unsigned, CUstream, void**, void**>(form, gx, gy, gz, bx, by, bz, shared, stream,
                                                     list, more);
    });
  }

  template <Name kName>
  static CUresult launch_cooperative(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                     unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                     CUstream stream, void** parameters) noexcept {
    const Shape shape{{gx, gy, gz}, {bx, by, bz}, named_stream(stream, kName.text)};
    const AskedLaunch asked{function, shape, shared, parameters, nullptr, true};
    return Hook::run(asked, [=](CUfunction form, void** list, void**) {
      return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 unsigned, CUstream, void**>(form, gx, gy, gz, bx, by, bz, shared, stream, list);
    });
  }

  template <Name kName>
  static CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                            void** extra) noexcept {
    const auto real = [=](CUfunction form, void** list, void** more) {
      return own<kName, const CUlaunchConfig*, CUfunction, void**, void**>(config, form, list,
                                                                           more);
    };
    if (config == nullptr) return static_cast<CUresult>(real(function, parameters, extra));
    const CUlaunchConfig& c = *config;
    const Shape shape{{c.gridDimX, c.gridDimY, c.gridDimZ},
                      {c.blockDimX, c.blockDimY, c.blockDimZ},
                      named_stream(c.hStream, kName.text)};
    AskedLaunch asked{function, shape, c.sharedMemBytes, parameters, extra};
    for (const CUlaunchAttribute& one : std::span(c.attrs, c.attrs != nullptr ? c.numAttrs : 0)) {
      if (one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        asked.is_cooperative = one.value.cooperative != 0;
      if (one.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
      asked.cluster[0] = one.value.clusterDim.x;
      asked.cluster[1] = one.value.clusterDim.y;
      asked.cluster[2] = one.value.clusterDim.z;
    }
    return Hook::run(asked, real);
  }
};

template <class Hook> void put_launches() noexcept {
  using Functions = LaunchFunctions<Hook>;
#define PUT(function, symbol)                                                                      \
  replace(symbol, reinterpret_cast<void*>(&Functions::template function<symbol>))
  PUT(launch, "cuLaunchKernel");
  PUT(launch, "cuLaunchKernel_ptsz");
  PUT(launch_cooperative, "cuLaunchCooperativeKernel");
  PUT(launch_cooperative, "cuLaunchCooperativeKernel_ptsz");
  PUT(launch_ex, "cuLaunchKernelEx");
  PUT(launch_ex, "cuLaunchKernelEx_ptsz");
#undef PUT
}

} // namespace gmt::interposer::kernel_checks
