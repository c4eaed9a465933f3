// SPDX-License-Identifier: Apache-2.0
// The driver functions that test programs call, declared by hand: the vendor's header renames
// cuMemAlloc to cuMemAlloc_v2 and its like, and these tests mean exact symbols.
#pragma once

using u32 = unsigned;
using u64 = unsigned long long;

extern "C" {
int cuInit(u32);
int cuDriverGetVersion(int*);
int cuCtxCreate_v2(u64*, u32, int);
int cuCtxSetCurrent(u64);
int cuCtxSynchronize();
int cuMemAlloc_v2(u64*, u64);
int cuMemFree_v2(u64);
int cuMemAllocManaged(u64*, u64, u32);
int cuMemHostRegister_v2(void*, u64, u32);
int cuMemHostUnregister(void*);
int cuMemAllocPitch_v2(u64*, u64*, u64, u64, u32);
int cuMemAllocAsync(u64*, u64, u64);
int cuMemFreeAsync(u64, u64);
int cuMemcpyHtoD_v2(u64, const void*, u64);
int cuMemsetD8_v2(u64, unsigned char, u64);
int cuStreamBeginCapture_v2(u64, int);
int cuStreamEndCapture(u64, u64*);
int cuLaunchKernel(u64, u32, u32, u32, u32, u32, u32, u32, u64, void**, void**);
int cuLaunchHostFunc(u64, void (*)(void*), void*);
int cuGetProcAddress(const char*, void**, int, u64);
int cuGetProcAddress_v2(const char*, void**, int, u64, int*);
}
using MemAlloc = int (*)(u64*, u64);
using MemFree = int (*)(u64);
using GetProcAddress = int (*)(const char*, void**, int, u64);
using GetProcAddress2 = int (*)(const char*, void**, int, u64, int*);
