// SPDX-License-Identifier: Apache-2.0
// Calls that the runtime refuses or answers itself, before any driver call: the trace must still
// have their shape. test_records.py reads it. Results go to stdout, one a line.
#include <cstdio>

#include <cuda_runtime_api.h>

int main() {
  static char host[64 * 1024];
  void* device = nullptr;
  std::printf("malloc %d\n", cudaMalloc(&device, 1 << 20));
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
  std::printf("array %d\n", cudaMallocArray(&array, &format, 64, 64, 0));
  std::printf("to array %d\n",
              cudaMemcpy2DToArray(array, 8, 2, host, 100, 200, 5, cudaMemcpyHostToDevice));
  std::printf("from array %d\n",
              cudaMemcpy2DFromArray(host, 100, array, 12, 3, 200, 5, cudaMemcpyDeviceToHost));
  cudaMemcpy3DParms block{};
  block.dstPtr = {device, 100, 100, 10};
  block.dstPos = {4, 1, 2};
  block.srcPtr = {host, 256, 256, 10};
  block.extent = {200, 5, 2};
  block.kind = cudaMemcpyHostToDevice;
  std::printf("block %d\n", cudaMemcpy3D(&block));
  cudaPitchedPtr none{};
  std::printf("nothing %d\n", cudaMalloc3D(&none, cudaExtent{0, 10, 10}));
  return 0;
}
