// SPDX-License-Identifier: Apache-2.0
// What the program's start-up code registered: fat binaries, kernels by host stub, variables by
// host shadow. Invariant: an image reaches the driver (cuLibraryLoadData) when something of it is
// first needed, not before.
#pragma once

#include "simulated_cuda/runtime/driver_calls.h"

#include <cstddef>

namespace gmt::sim {

// The driver's handle of the kernel behind a host stub; cudaErrorInvalidDeviceFunction if nothing
// registered it. A handle from cudaLibraryGetKernel is not a stub: it is passed through.
cudaError_t kernel_of(const void* stub, CUkernel* kernel);
// The other way round; the handle itself if no stub is known.
const void* stub_of(CUkernel kernel);

// Address and size of the variable behind a host shadow; cudaErrorInvalidSymbol if nothing
// registered it.
cudaError_t variable_of(const void* symbol, CUdeviceptr* address, std::size_t* bytes);

// What was registered so far goes to the driver, which has just been loaded.
void announce_binaries();

// The program called a function of the runtime that is not implemented here.
void note_refusal(const char* function);

} // namespace gmt::sim
