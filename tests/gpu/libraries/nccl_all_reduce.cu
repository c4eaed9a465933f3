// SPDX-License-Identifier: Apache-2.0
// An all-reduce with NCCL over all GPUs that this process sees; one is enough.
// libraries: nccl
#include <nccl.h>

#include <vector>

#include "library_program.h"

int main(int argc, char** argv) {
  need_gpu();
  int devices = 0;
  MUST(cudaGetDeviceCount(&devices));
  constexpr int n = 1 << 20;
  std::vector<ncclComm_t> comms(devices);
  std::vector<cudaStream_t> streams(devices);
  std::vector<float*> send(devices), receive(devices);
  MUST(ncclCommInitAll(comms.data(), devices, nullptr));
  for (int i = 0; i < devices; ++i) {
    MUST(cudaSetDevice(i));
    MUST(cudaStreamCreate(&streams[i]));
    MUST(cudaMalloc(&send[i], n * sizeof(float)));
    MUST(cudaMalloc(&receive[i], n * sizeof(float)));
    MUST(cudaMemset(send[i], 0, n * sizeof(float)));
  }
  for (int round = 0; round < 3; ++round) {
    MUST(ncclGroupStart());
    for (int i = 0; i < devices; ++i) {
      MUST(ncclAllReduce(send[i], receive[i], n, ncclFloat, ncclSum, comms[i], streams[i]));
    }
    MUST(ncclGroupEnd());
  }
  std::vector<float> result(n, 1.0f);
  for (int i = 0; i < devices; ++i) {
    MUST(cudaSetDevice(i));
    MUST(cudaStreamSynchronize(streams[i]));
    MUST(cudaMemcpy(result.data(), receive[i], n * sizeof(float), cudaMemcpyDeviceToHost));
    MUST(cudaFree(send[i]));
    MUST(cudaFree(receive[i]));
    MUST(cudaStreamDestroy(streams[i]));
  }
  for (ncclComm_t comm : comms) MUST(ncclCommDestroy(comm));
  if (result[9] != 0.0f) return 1;
  return finish(argc, argv);
}
