// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/child_launches.h"

#include "simulated_cuda/driver/execution/kernel_launch.h"
#include "simulated_cuda/driver/state/state.h"

namespace gmt::sim {
namespace {

using executor::DeviceLaunch;

void launch(const Kernel& parent, const KernelOperation& operation, const Stream& stream,
            const DeviceLaunch& child) {
  const Kernel* kernel = kernel_named(parent.library, child.kernel.c_str());
  if (kernel == nullptr) return; // its PTX has it, or the parent could not have named it
  KernelOperation made;
  made.params.gridDimX = child.grid.x;
  made.params.gridDimY = child.grid.y;
  made.params.gridDimZ = child.grid.z;
  made.params.blockDimX = child.block.x;
  made.params.blockDimY = child.block.y;
  made.params.blockDimZ = child.block.z;
  made.params.sharedMemBytes = static_cast<unsigned>(child.shared_bytes);
  made.argument_bytes = child.arguments;
  made.made = operation.made;
  made.node = operation.node;
  execute_kernel(*kernel, made, stream);
}

} // namespace

void run_children(const Kernel& parent, const KernelOperation& operation, const Stream& stream,
                  const std::vector<DeviceLaunch>& children) {
  for (const DeviceLaunch& child : children) {
    if (stream.context->sticky != CUDA_SUCCESS) return;
    launch(parent, operation, stream, child);
  }
}

} // namespace gmt::sim
