// SPDX-License-Identifier: Apache-2.0
// For programs of the driver API: the primary context of the first device, and a module's text.
#pragma once

#include "answers.h"

#include <cuda.h>

// It is current behind this; cuDevicePrimaryCtxRelease() ends it.
inline CUdevice enter_first_device()
{
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  return device;
}

// Stores each thread's number where it belongs: to[i] = i.
inline const char kStores[] = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 variable;
.visible .entry store(.param .u64 store_0)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [store_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r4;
  ret;
}
.visible .entry nothing()
{
  ret;
}
)";
