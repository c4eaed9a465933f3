// SPDX-License-Identifier: Apache-2.0
// Kernel launches: checked, counted, executed and answered 0. Called through driver_api.def, and by
// operation.cpp for graph nodes, with the lock held. A kernel's fault, and what is staged, is an
// error that the context keeps. Invariant: the launch itself answers 0 then; every later call
// answers the error.
#include "simulated_cuda/common/staging.h"
#include "simulated_cuda/driver/api.h"
#include "simulated_cuda/driver/code/library.h"
#include "simulated_cuda/driver/execution/kernel_launch.h"
#include "simulated_cuda/driver/execution/primary.h"
#include "simulated_cuda/driver/state/observer.h"
#include "simulated_cuda/driver/streams/operation.h"

#include <algorithm>
#include <atomic>
#include <iterator>

namespace gmt::sim {
namespace {

constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr unsigned kMaxGridYz = 65535;
constexpr unsigned kMaxSharedBytes = 232448;

bool shape_is_possible(const CUDA_KERNEL_NODE_PARAMS& p) {
  if (p.gridDimX == 0 || p.gridDimY == 0 || p.gridDimZ == 0) return false;
  if (p.gridDimX > 0x7fffffffu || p.gridDimY > kMaxGridYz || p.gridDimZ > kMaxGridYz) return false;
  if (p.blockDimX == 0 || p.blockDimY == 0 || p.blockDimZ == 0) return false;
  if (p.blockDimX > kMaxThreadsPerBlock || p.blockDimY > kMaxThreadsPerBlock || p.blockDimZ > 64)
    return false;
  if (std::size_t{p.blockDimX} * p.blockDimY * p.blockDimZ > kMaxThreadsPerBlock) return false;
  return p.sharedMemBytes <= kMaxSharedBytes;
}

const void* handle_of(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr ? static_cast<const void*>(params.func)
                                : static_cast<const void*>(params.kern);
}

// What a launch may have beside its shape.
struct Extras {
  bool cooperative = false, programmatic = false;
  bool has_empty_cluster = false; // it asks for clusters of no block
  unsigned cluster[3] = {0, 0, 0};
};

CUresult launch(const CUDA_KERNEL_NODE_PARAMS& params, CUstream handle, const Extras& extras) {
  const Stream* stream = find_stream(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (extras.has_empty_cluster) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  KernelOperation kernel = make_kernel_operation(params);
  kernel.cooperative = extras.cooperative;
  if (stream->capture == nullptr) follow(kernel, *stream, extras.programmatic);
  if (extras.programmatic && stream->capture != nullptr) // the edge to it says so
    kernel.attributes[CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION]
      .programmaticStreamSerializationAllowed = 1;
  std::copy(std::begin(extras.cluster), std::end(extras.cluster), kernel.cluster);
  if (stream->capture == nullptr) kernel.made = 0;
  return submit(handle, std::move(kernel));
}

std::atomic<void (*)(CUcontext, const char*)> launch_watcher{nullptr};

} // namespace

void watch_launches(void (*ran)(CUcontext, const char*)) { launch_watcher.store(ran); }

KernelOperation make_kernel_operation(const CUDA_KERNEL_NODE_PARAMS& params) {
  KernelOperation operation;
  operation.params = params;
  operation.made = observed_call();
  const Kernel* kernel = find_kernel(handle_of(params));
  const bool both = params.kernelParams != nullptr && params.extra != nullptr;
  if (kernel != nullptr && !both) operation.argument_bytes = gather_arguments(*kernel, params);
  return operation;
}

namespace {

// A cluster of more than 8 blocks needs an attribute of its kernel.
bool has_possible_clusters(const Kernel& kernel, const KernelOperation& operation) {
  const executor::Extent cluster = cluster_of(kernel, operation.cluster);
  if (cluster.count() == 0) return true;
  const int* allowed =
    set_attribute_of(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  const bool is_large = allowed != nullptr && *allowed != 0;
  if (cluster.count() > (is_large ? 16u : 8u)) return false;
  const CUDA_KERNEL_NODE_PARAMS& p = operation.params;
  return p.gridDimX % cluster.x == 0 && p.gridDimY % cluster.y == 0 && p.gridDimZ % cluster.z == 0;
}

} // namespace

CUresult check_launch(const KernelOperation& kernel) {
  const CUDA_KERNEL_NODE_PARAMS& p = kernel.params;
  const Kernel* const found = find_kernel(handle_of(p));
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!shape_is_possible(p)) return CUDA_ERROR_INVALID_VALUE;
  if (p.sharedMemBytes > most_dynamic_shared_bytes(*found)) return CUDA_ERROR_INVALID_VALUE;
  if (p.kernelParams != nullptr && p.extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const unsigned long long blocks = std::size_t{p.gridDimX} * p.gridDimY * p.gridDimZ;
  const auto threads = static_cast<int>(p.blockDimX * p.blockDimY * p.blockDimZ);
  if (threads > most_threads_of_block(*found)) return CUDA_ERROR_INVALID_VALUE;
  if (!has_possible_clusters(*found, kernel)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const bool fits =
    !kernel.cooperative || blocks <= most_resident_blocks(*found, threads, p.sharedMemBytes);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

CUresult do_launch(const KernelOperation& kernel, const Stream& stream) {
  if (CUresult bad = check_launch(kernel); bad != CUDA_SUCCESS) return bad;
  ++state().launches;
  const Kernel* const found = find_kernel(handle_of(kernel.params));
  const std::string& name = found->name;
  if (const auto ran = launch_watcher.load())
    ran(reinterpret_cast<CUcontext>(this_thread().current()), name.c_str());
  if (gpumemtrace_stage_launch != nullptr) {
    const CUresult staged = gpumemtrace_stage_launch(name.c_str());
    if (staged != CUDA_SUCCESS) this_thread().current()->sticky = staged;
  }
  execute_kernel(*found, kernel, stream);
  return CUDA_SUCCESS;
}

namespace {

CUDA_KERNEL_NODE_PARAMS node_params(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                    unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                    void** arguments, void** extra) {
  CUDA_KERNEL_NODE_PARAMS params{};
  params.func = function;
  params.gridDimX = gx;
  params.gridDimY = gy;
  params.gridDimZ = gz;
  params.blockDimX = bx;
  params.blockDimY = by;
  params.blockDimZ = bz;
  params.sharedMemBytes = shared;
  params.kernelParams = arguments;
  params.extra = extra;
  return params;
}

Extras extras_of(const CUlaunchConfig& config) {
  Extras extras;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      extras.cooperative = attribute.value.cooperative != 0;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      extras.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0;
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    extras.cluster[0] = attribute.value.clusterDim.x;
    extras.cluster[1] = attribute.value.clusterDim.y;
    extras.cluster[2] = attribute.value.clusterDim.z;
    const auto& asked = extras.cluster;
    extras.has_empty_cluster = asked[0] == 0 || asked[1] == 0 || asked[2] == 0;
  }
  return extras;
}

} // namespace

CUresult launch_kernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                       unsigned by, unsigned bz, unsigned shared, CUstream stream, void** arguments,
                       void** extra) {
  return launch(node_params(function, gx, gy, gz, bx, by, bz, shared, arguments, extra), stream,
                {});
}

CUresult launch_kernel_ex(const CUlaunchConfig* c, CUfunction function, void** arguments,
                          void** extra) {
  if (c == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult launched =
    launch(node_params(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY,
                       c->blockDimZ, c->sharedMemBytes, arguments, extra),
           c->hStream, extras_of(*c));
  for (unsigned i = 0; i < c->numAttrs && launched == CUDA_SUCCESS; ++i) {
    const CUlaunchAttribute& attribute = c->attrs[i];
    CUevent event = nullptr;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
      event = attribute.value.programmaticEvent.event;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      event = attribute.value.launchCompletionEvent.event;
    if (event == nullptr) continue;
    if (CUresult bad = event_record(event, c->hStream); bad != CUDA_SUCCESS) return bad;
  }
  return launched;
}

CUresult launch_cooperative_kernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz,
                                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                                   CUstream stream, void** arguments) {
  return launch(node_params(function, gx, gy, gz, bx, by, bz, shared, arguments, nullptr), stream,
                {.cooperative = true});
}

} // namespace gmt::sim
