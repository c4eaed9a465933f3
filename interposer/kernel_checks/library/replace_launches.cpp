// SPDX-License-Identifier: Apache-2.0
// Launches: the checked form runs where there is one, in the context that has the table. A form
// that the device cannot launch so is replaced by the plain one. Captures keep the program's own
// kernels.
#include <algorithm>
#include <optional>

#include "interposer/kernel_checks/library/arguments.h"
#include "interposer/kernel_checks/library/captures.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/launches.h"
#include "interposer/kernel_checks/library/memory.h"
#include "interposer/kernel_checks/library/replacements.h"

namespace gmt::interposer::kernel_checks {

namespace {

struct Shape {
  std::uint32_t grid[3], block[3];
  CUstream stream;
};

// What the device says where a form needs more than there is, or does not know of it.
bool is_refused(int result) noexcept {
  return result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ||
         result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

// Why a kernel's checked form cannot run now; none: it can.
std::optional<PlainReason> why_plain(const Kernel& kernel) noexcept {
  if (kernel.checked == nullptr) return PlainReason::kKernel;
  if (!has_table()) return PlainReason::kContext;
  return is_ready(kernel) ? std::nullopt : std::optional(PlainReason::kVariables);
}

std::uint64_t remember(const Kernel& kernel, CUfunction function, const Shape& shape) noexcept {
  Launch launch;
  launch.call = core->call_in_progress();
  launch.function = reinterpret_cast<std::uint64_t>(function);
  launch.stream = reinterpret_cast<std::uint64_t>(shape.stream);
  launch.module = kernel.module;
  launch.kernel = kernel.name.c_str();
  std::ranges::copy(shape.grid, launch.grid);
  std::ranges::copy(shape.block, launch.block);
  return remember_launch(launch);
}

// A launch as the program makes it; `real(form, parameters, extra)` is the driver's.
struct Asked {
  CUfunction function;
  Shape shape;
  void **parameters, **extra;
};

// What the driver answers to the launch of the checked form.
template <class Real>
int run_checked(const Kernel& kernel, const Asked& asked, Real real) noexcept {
  const std::uint64_t number = remember(kernel, asked.function, asked.shape);
  const NumberedArguments arguments(kernel.launch_parameter, number, asked.parameters, asked.extra);
  int result = real(kernel.checked, arguments.parameters(), arguments.extra());
  if (is_refused(result)) {
    copy_attributes(kernel, asked.function);
    result = real(kernel.checked, arguments.parameters(), arguments.extra());
  }
  if (result == CUDA_SUCCESS) mark_launched(kernel);
  else forget_launch(number);
  return result;
}

template <class Real> CUresult run(const Asked& asked, Real real) noexcept {
  if (any_capture()) {
    const int result = real(asked.function, asked.parameters, asked.extra);
    const Kernel* kernel = result == CUDA_SUCCESS ? kernel_of(asked.function) : nullptr;
    if (kernel != nullptr) count_plain(*kernel, PlainReason::kCapture);
    return static_cast<CUresult>(result);
  }
  const Kernel* kernel = asked.function != nullptr ? kernel_of(asked.function) : nullptr;
  std::optional<PlainReason> why = PlainReason::kKernel;
  if (kernel != nullptr) why = why_plain(*kernel);
  if (!why) {
    const int result = run_checked(*kernel, asked, real);
    if (!is_refused(result)) return static_cast<CUresult>(result);
    why = PlainReason::kDevice;
  }
  const int result = real(asked.function, asked.parameters, asked.extra);
  if (result == CUDA_SUCCESS && kernel != nullptr) count_plain(*kernel, *why);
  return static_cast<CUresult>(result);
}

template <Name kName>
CUresult launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters,
                void** extra) noexcept {
  const Asked asked{function, {{gx, gy, gz}, {bx, by, bz}, stream}, parameters, extra};
  return run(asked, [=](CUfunction form, void** list, void** more) {
    return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               unsigned, CUstream, void**, void**>(form, gx, gy, gz, bx, by, bz, shared, stream,
                                                   list, more);
  });
}

template <Name kName>
CUresult launch_cooperative(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream,
                            void** parameters) noexcept {
  const Asked asked{function, {{gx, gy, gz}, {bx, by, bz}, stream}, parameters, nullptr};
  return run(asked, [=](CUfunction form, void** list, void**) {
    return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               unsigned, CUstream, void**>(form, gx, gy, gz, bx, by, bz, shared, stream, list);
  });
}

template <Name kName>
CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                   void** extra) noexcept {
  const auto real = [=](CUfunction form, void** list, void** more) {
    return own<kName, const CUlaunchConfig*, CUfunction, void**, void**>(config, form, list, more);
  };
  if (config == nullptr) return static_cast<CUresult>(real(function, parameters, extra));
  const CUlaunchConfig& c = *config;
  const Shape shape{
    {c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.hStream};
  return run({function, shape, parameters, extra}, real);
}

// ---- captures

template <Name kName, class... Args> struct BeginsCapture {
  static CUresult call(Args... args) noexcept {
    captures.fetch_add(1); // before it begins: another thread's call must not be cut in two by it
    const int result = own<kName, Args...>(args...);
    if (result != CUDA_SUCCESS) captures.fetch_sub(1);
    return static_cast<CUresult>(result);
  }
};

// A capture that was invalidated ends with an error, and one that never began is not there to end.
template <Name kName> CUresult end_capture(CUstream stream, CUgraph* graph) noexcept {
  constexpr int kNoCapture = CUDA_ERROR_ILLEGAL_STATE;
  const int result = own<kName, CUstream, CUgraph*>(stream, graph);
  const bool has_ended = result != kNoCapture && result != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
                         result != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
                         result != CUDA_ERROR_INVALID_VALUE;
  if (has_ended && captures.load() > 0) captures.fetch_sub(1);
  return static_cast<CUresult>(result);
}

template <Name kName, class... Args> void put_begin() noexcept {
  replace(kName.text, reinterpret_cast<void*>(&BeginsCapture<kName, Args...>::call));
}

} // namespace

void replace_launches() noexcept {
#define PUT(function, symbol) replace(symbol, reinterpret_cast<void*>(&function<symbol>))
  PUT(launch, "cuLaunchKernel");
  PUT(launch, "cuLaunchKernel_ptsz");
  PUT(launch_cooperative, "cuLaunchCooperativeKernel");
  PUT(launch_cooperative, "cuLaunchCooperativeKernel_ptsz");
  PUT(launch_ex, "cuLaunchKernelEx");
  PUT(launch_ex, "cuLaunchKernelEx_ptsz");
  PUT(end_capture, "cuStreamEndCapture");
  PUT(end_capture, "cuStreamEndCapture_ptsz");
#undef PUT
  using Mode = CUstreamCaptureMode;
  put_begin<"cuStreamBeginCapture", CUstream>();
  put_begin<"cuStreamBeginCapture_ptsz", CUstream>();
  put_begin<"cuStreamBeginCapture_v2", CUstream, Mode>();
  put_begin<"cuStreamBeginCapture_v2_ptsz", CUstream, Mode>();
  put_begin<"cuStreamBeginCaptureToGraph", CUstream, CUgraph, const CUgraphNode*,
            const CUgraphEdgeData*, std::size_t, Mode>();
  put_begin<"cuStreamBeginCaptureToGraph_ptsz", CUstream, CUgraph, const CUgraphNode*,
            const CUgraphEdgeData*, std::size_t, Mode>();
}

} // namespace gmt::interposer::kernel_checks
