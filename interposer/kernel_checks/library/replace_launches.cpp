// SPDX-License-Identifier: Apache-2.0
// Launches: the checked form runs where there is one, in the context that has the table. A form
// that the device cannot launch so is replaced by the plain one. Captures keep the program's own
// kernels.
#include <algorithm>
#include <optional>

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

void remember(const Kernel& kernel, CUfunction function, const Shape& shape) noexcept {
  Launch launch;
  launch.call = core->call_in_progress();
  launch.function = reinterpret_cast<std::uint64_t>(function);
  launch.stream = reinterpret_cast<std::uint64_t>(shape.stream);
  launch.module = kernel.module;
  launch.kernel = kernel.name.c_str();
  std::ranges::copy(shape.grid, launch.grid);
  std::ranges::copy(shape.block, launch.block);
  kernel.module->launched.store(remember_launch(launch));
}

// `real(form)` is the driver's launch.
template <class Real> CUresult run(CUfunction function, const Shape& shape, Real real) noexcept {
  if (any_capture()) {
    const int result = real(function);
    const Kernel* kernel = result == CUDA_SUCCESS ? kernel_of(function) : nullptr;
    if (kernel != nullptr) count_plain(*kernel, PlainReason::kCapture);
    return static_cast<CUresult>(result);
  }
  const Kernel* kernel = function != nullptr ? kernel_of(function) : nullptr;
  std::optional<PlainReason> why = PlainReason::kKernel;
  if (kernel != nullptr) why = why_plain(*kernel);
  if (!why) {
    int result = real(kernel->checked);
    if (is_refused(result)) {
      copy_attributes(*kernel, function);
      result = real(kernel->checked);
    }
    if (result == CUDA_SUCCESS) remember(*kernel, function, shape);
    if (!is_refused(result)) return static_cast<CUresult>(result);
    why = PlainReason::kDevice;
  }
  const int result = real(function);
  if (result != CUDA_SUCCESS) return static_cast<CUresult>(result);
  if (why != PlainReason::kContext) count_launch(); // each context numbers its own
  if (kernel != nullptr) count_plain(*kernel, *why);
  return CUDA_SUCCESS;
}

template <Name kName>
CUresult launch(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters,
                void** extra) noexcept {
  return run(function, {{gx, gy, gz}, {bx, by, bz}, stream}, [=](CUfunction form) {
    return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               unsigned, CUstream, void**, void**>(form, gx, gy, gz, bx, by, bz, shared, stream,
                                                   parameters, extra);
  });
}

template <Name kName>
CUresult launch_cooperative(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                            unsigned by, unsigned bz, unsigned shared, CUstream stream,
                            void** parameters) noexcept {
  return run(function, {{gx, gy, gz}, {bx, by, bz}, stream}, [=](CUfunction form) {
    return own<kName, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
               unsigned, CUstream, void**>(form, gx, gy, gz, bx, by, bz, shared, stream,
                                           parameters);
  });
}

template <Name kName>
CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** parameters,
                   void** extra) noexcept {
  const auto real = [=](CUfunction form) {
    return own<kName, const CUlaunchConfig*, CUfunction, void**, void**>(config, form, parameters,
                                                                         extra);
  };
  if (config == nullptr) return static_cast<CUresult>(real(function));
  const CUlaunchConfig& c = *config;
  return run(
    function,
    {{c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, c.hStream},
    real);
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
