// SPDX-License-Identifier: Apache-2.0
// What a library that is loaded beside the simulated driver may stage: mistakes of a driver and of
// a device, which no program can provoke. It defines these functions; without it they are null.
// Invariant: they are called with the driver's lock held, but for calls that take none, and call
// nothing of the driver.
#pragma once

#include <cuda.h>

extern "C" {

// Before each call, by its name without _ptds or _ptsz. What is not 0 is answered in its place.
[[gnu::weak, gnu::visibility("default")]] CUresult gpumemtrace_stage_call(const char* symbol);

// At each kernel, by its linked name. What is not 0 is an error that the context keeps.
[[gnu::weak, gnu::visibility("default")]] CUresult gpumemtrace_stage_launch(const char* kernel);
}
