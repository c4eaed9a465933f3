// SPDX-License-Identifier: Apache-2.0
// NVTX ranges around allocations: leaks and double frees bear the path they happened in, iterations stay one finding.
//
// run: stack
// expect: error leak count=3 bytes=3072 range="epoch 0 / forward" stacks="allocated here"@forward:LINE(leak)
// expect: error double-free count=1 range="shutdown" stacks="allocated here"@main,"first freed here"@main,"freed again here"@main
// run: range
// options: --group-by range
// expect: error leak count=1 bytes=1024 range="epoch 0 / forward"
// expect: error leak count=1 bytes=1024 range="epoch 1 / forward"
// expect: error leak count=1 bytes=1024 range="epoch 2 / forward"
// expect: error double-free count=1 range="shutdown"
// run: payload
// options: --group-by range
// expect: error leak count=1 bytes=1024 range="epoch 0 / forward"
// expect: error leak count=1 bytes=1024 range="epoch 1 / forward"
// expect: error leak count=1 bytes=1024 range="epoch 2 / forward"
// expect: error double-free count=1 range="shutdown"
// run: policies
// options: check --policy "no-alloc-in forward" --policy "no-direct-malloc after ready"
// expect: error leak
// expect: error double-free
// expect: error policy count=3 message="no-alloc-in forward" stacks="allocated here"@forward:LINE(leak)
// expect: error policy count=3 message="no-direct-malloc after ready" stacks="allocated here"@forward:LINE(leak)
// run: limits
// options: check --policy "max-allocations 2" --policy "max-device-bytes 3K" --policy "no-alloc-in backward"
// expect: error leak
// expect: error double-free
// expect: error policy message="there were 4" range="epoch 1 / forward"
// expect: error policy message="the peak was 4.0 KiB" range="epoch 2 / forward"
// not-checked: policy
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstring>
#include <string>

// As NCCL ends the ranges of calls whose arguments it wants in the timeline.
static void pop_with_payload() {
  const int rank = 0;
  const nvtxPayloadData_t data = {NVTX_PAYLOAD_ENTRY_TYPE_INT, sizeof rank, &rank};
  nvtxRangePopPayload(nullptr, &data, 1);
}

static void forward(bool with_payload) {
  nvtxRangePushA("forward");
  void* memory = nullptr;
  cudaMalloc(&memory, 1024); // @leak
  cudaMemset(memory, 0, 1024);
  with_payload ? pop_with_payload() : static_cast<void>(nvtxRangePop());
}

int main(int, char** arguments) {
  const bool with_payload = std::strcmp(arguments[1], "payload") == 0;
  void* workspace = nullptr;
  cudaMalloc(&workspace, 1024);
  cudaMemset(workspace, 0, 1024);
  nvtxMarkA("ready");
  for (int epoch = 0; epoch < 3; ++epoch) {
    nvtxRangePushA(("epoch " + std::to_string(epoch)).c_str());
    forward(with_payload);
    nvtxRangePop();
  }
  const nvtxRangeId_t shutdown = nvtxRangeStartA("shutdown");
  cudaFree(workspace);
  cudaFree(workspace);
  nvtxRangeEnd(shutdown);
  return 0;
}
