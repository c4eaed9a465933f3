// SPDX-License-Identifier: Apache-2.0
// What the two sources of the program `separable` share. They are linked with -rdc=true.
#pragma once

extern __device__ int shared_counter;
extern __device__ int shared_table[8];
extern __constant__ float shared_factor;
__device__ int from_other_file(int x);
__device__ int calls_back(int x);
using SharedFunction = int (*)(int);
extern __device__ SharedFunction shared_functions[2];

template <class T> __device__ __noinline__ T in_both_files(T x) { return x * x + 1; }

void launch_other(int* out, int n);
