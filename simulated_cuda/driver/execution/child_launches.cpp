// SPDX-License-Identifier: Apache-2.0
#include "simulated_cuda/driver/execution/child_launches.h"

namespace gmt::sim {

KernelOperation child_operation(const Kernel& kernel, const KernelOperation& parent,
                                const executor::DeviceLaunch& child) {
  KernelOperation made;
  made.params.func = reinterpret_cast<CUfunction>(const_cast<Kernel*>(&kernel));
  made.params.gridDimX = child.grid.x;
  made.params.gridDimY = child.grid.y;
  made.params.gridDimZ = child.grid.z;
  made.params.blockDimX = child.block.x;
  made.params.blockDimY = child.block.y;
  made.params.blockDimZ = child.block.z;
  made.params.sharedMemBytes = static_cast<unsigned>(child.shared_bytes);
  made.argument_bytes = child.arguments;
  made.made = parent.made;
  made.node = parent.node;
  return made;
}

} // namespace gmt::sim
