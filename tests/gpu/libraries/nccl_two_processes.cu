// SPDX-License-Identifier: Apache-2.0
// All-reduces with NCCL between two processes, whose kernels wait for each other. They share the
// GPU where there is one.
// libraries: nccl
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "library_program.h"

namespace {

constexpr int ranks = 2;
constexpr int n = 1 << 20;

// NCCL refuses two ranks on one GPU of a host. As ranks of two hosts they talk through sockets.
void share_one_gpu(int rank) {
  setenv("NCCL_HOSTID", ("host " + std::to_string(rank)).c_str(), 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("NCCL_IB_DISABLE", "1", 1);
}

void use_gpu(int rank) {
  int devices = 0;
  MUST(cudaGetDeviceCount(&devices));
  MUST(cudaSetDevice(rank % devices));
  if (devices < ranks) share_one_gpu(rank);
}

// Sums `rank + 1` of all ranks, many times; true if each result was right.
bool reduce(int rank, const ncclUniqueId& id) {
  ncclComm_t comm = nullptr;
  MUST(ncclCommInitRank(&comm, ranks, id, rank));
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreate(&stream));
  float* send = nullptr;
  float* received = nullptr;
  MUST(cudaMalloc(&send, n * sizeof(float)));
  MUST(cudaMalloc(&received, n * sizeof(float)));
  std::vector<float> values(n, static_cast<float>(rank + 1));
  MUST(cudaMemcpy(send, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  bool right = true;
  for (int round = 0; round < 20; ++round) {
    MUST(ncclAllReduce(send, received, n, ncclFloat, ncclSum, comm, stream));
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(values.data(), received, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (float value : values) right = right && value == 3.0f; // 1 + 2
  }
  MUST(cudaFree(received));
  MUST(cudaFree(send));
  MUST(cudaStreamDestroy(stream));
  MUST(ncclCommDestroy(comm));
  return right;
}

} // namespace

int main(int argc, char** argv) {
  int to_child[2] = {};
  MUST(pipe(to_child));
  const pid_t child = fork(); // before the first call of CUDA, which does not survive it
  MUST(child < 0);
  ncclUniqueId id{};
  if (child == 0) {
    close(to_child[1]);
    if (read(to_child[0], &id, sizeof id) != sizeof id) return 77; // the parent skipped
    use_gpu(1);
    return reduce(1, id) ? 0 : 1;
  }
  need_gpu();
  use_gpu(0);
  MUST(ncclGetUniqueId(&id));
  MUST(write(to_child[1], &id, sizeof id) != sizeof id);
  const bool right = reduce(0, id);
  int status = 0;
  MUST(waitpid(child, &status, 0) != child);
  if (!right || status != 0) return 1;
  return finish(argc, argv);
}
