// SPDX-License-Identifier: Apache-2.0
__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};

__device__ int element(const int* from, int i) {
  return from[i]; // @element
}
