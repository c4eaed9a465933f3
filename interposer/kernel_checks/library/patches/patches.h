// SPDX-License-Identifier: Apache-2.0
// --kernel-checks=libraries: code without PTX, as PyTorch's own and cuBLAS', is patched in its
// machine code by NVIDIA's Sanitizer API. A patch looks each address up in the same table as
// checked PTX does, and records mistakes.
//
// Invariants: modules that have checked forms are left as they are. Nothing here calls the driver
// while the Sanitizer API calls us: what a launch needs is ready before it. A failure leaves code
// without patches, or a launch whose patches check nothing, and is named.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/forms.h"
#include "interposer/kernel_checks/library/patches/control.h"
#include "interposer/kernel_checks/library/patches/patched_functions.h"

namespace gmt::interposer::kernel_checks {

void begin_patches() noexcept;   // before the driver is initialised
void enter_patches() noexcept;   // the current context has got the table
void leave_patches() noexcept;   // and has ended
void abandon_patches() noexcept; // in a forked child

// Whether the kernels of graphs get patches when these are launched.
bool are_graphs_patched() noexcept;

// A launch of a plain form: patches of its code, if it has any, check what it accesses.
class PatchedLaunch {
public:
  PatchedLaunch(const Kernel& kernel, CUfunction function, const Shape& shape) noexcept;
  // The driver has taken it or refused it. Whether patches check it.
  bool end(bool was_taken) noexcept;

private:
  const Kernel& kernel_;
  std::uint64_t number_ = 0; // 0: no code of this context has patches
};

// ---- for reports

void report_patched_launches() noexcept; // how many there were since the last time

CUdeviceptr patch_control() noexcept; // on the device; 0: no context has one
// What holds the instruction, of all that was launched with patches; no name: it is not known.
PatchedFunction patched_function_at(std::uint64_t pc) noexcept;

} // namespace gmt::interposer::kernel_checks
