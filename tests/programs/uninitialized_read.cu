// SPDX-License-Identifier: Apache-2.0
// Device memory that is copied to the host before anything has written it, all of it or a part; and the ways of writing
// it that excuse the copy: a copy, a set, a kernel that is given a pointer, a graph, another owner of the memory.
//
// run:
// expect: error uninitialized-read count=1 bytes=4096 api=cudaMemcpy message="which nothing has written: no copy, no set, and no kernel has run" stacks="copied here"@main:LINE(read),"allocated here"@main:LINE(alloc)
// run: part
// expect: error uninitialized-read count=1 bytes=3072 message="reads 4,096 bytes of a block of 4.0 KiB of device memory allocated by cudaMalloc, and nothing has written 3,072 of them" stacks="copied here"@main:LINE(read),"allocated here"@main:LINE(alloc)
// run: kernel-elsewhere
// expect-real: note uninitialized-read count=1 bytes=4096 message="though one may have found it in memory" stacks="copied here"@main:LINE(read),"allocated here"@main:LINE(alloc)
// expect-simulated: warning uninitialized-read count=1 bytes=4096 message="which nothing has written: no copy, no set and no kernel" stacks="copied here"@main:LINE(read),"allocated here"@main:LINE(alloc)
// run: copied-on
// expect: note uninitialized-read count=1 bytes=4096 stacks="copied here"@copy_on:LINE(copy-on),"allocated here"@main:LINE(alloc)
// run: pitched
// expect: silent
// run: set
// expect: silent
// run: kernel
// expect: silent
// run: unread
// env: GPUMEMTRACE_LAUNCH_ARGUMENTS=0
// expect-real: silent
// expect-simulated: warning uninitialized-read count=1 bytes=4096 stacks="copied here"@main:LINE(read),"allocated here"@main:LINE(alloc)
// run: graph
// expect: silent
// run: managed
// expect: silent
// run: earlier
// expect-simulated: warning uninitialized-read count=1 bytes=4096 stacks="copied here"@main:LINE(read-beside),"allocated here"@main:LINE(alloc)
// expect-real: note uninitialized-read count=1 bytes=4096 message="though one that was launched before may still have been running" stacks="copied here"@main:LINE(read-beside),"allocated here"@main:LINE(alloc)
// run: earlier-waited
// expect: error uninitialized-read count=1 bytes=4096 stacks="copied here"@main:LINE(read-beside),"allocated here"@main:LINE(alloc)
// run: mailbox
// device: gpu
// expect: note uninitialized-read count=1 bytes=4096 message="though one that was launched before may still have been running"
#include "answers.h"

#include <vector>

constexpr size_t kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

__global__ void fill(float* values)
{
  if (values != nullptr)
    values[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

// Waits for a block to fill, and fills it; gives up in the end.
__global__ void serve(float* volatile* inbox, volatile int* done)
{
  for (long long begun = clock64(); *inbox == nullptr && clock64() - begun < (1ll << 34);) {}
  if (*inbox != nullptr) {
    for (int i = 0; i < 1024; ++i) (*inbox)[i] = 2.0f;
    __threadfence_system();
  }
  *done = 1;
}

struct Mailbox {
  float* inbox;
  int done;
};

static void copy_on(float* block)
{
  float* other = nullptr;
  CHECK(cudaMalloc(&other, kBytes));
  CHECK(cudaMemcpy(other, block, kBytes, cudaMemcpyDeviceToDevice)); // @copy-on
  TOUCH(block, kBytes);
  CHECK(cudaFree(other));
}

// Row by row: what lies between the rows is never written, and read with them.
static void pitched(std::vector<float>& host)
{
  constexpr size_t kWidth = 100, kRows = 4;
  void* rows = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&rows, &pitch, kWidth, kRows));
  for (size_t row = 0; row < kRows; ++row)
    CHECK(cudaMemcpy(static_cast<char*>(rows) + row * pitch, host.data(), kWidth, cudaMemcpyHostToDevice));
  std::vector<char> all(kRows * pitch);
  CHECK(cudaMemcpy(all.data(), rows, kRows * pitch, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(rows));
}

// The set runs when the graph is launched, after the calls that made it.
static void set_by_graph(float* block)
{
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMemsetAsync(block, 0, kBytes, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&launchable, graph, 0));
  CHECK(cudaGraphLaunch(launchable, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaGraphExecDestroy(launchable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char** argv)
{
  std::vector<float> host(kCount, 1.0f);
  if (started_with(argc, argv, "managed")) {
    float* shared = nullptr;
    CHECK(cudaMallocManaged(&shared, kBytes));
    shared[0] = 1.0f;
    CHECK(cudaMemcpy(host.data(), shared, kBytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(shared));
    return 0;
  }
  if (started_with(argc, argv, "pitched")) {
    pitched(host);
    return 0;
  }
  const bool beside = started_with(argc, argv, "earlier") || started_with(argc, argv, "earlier-waited");
  const bool mailbox = started_with(argc, argv, "mailbox");
  volatile Mailbox* mail = nullptr;
  cudaStream_t running = nullptr, copying = nullptr;
  if (beside || mailbox) {
    void* shared = nullptr;
    CHECK(cudaHostAlloc(&shared, sizeof(Mailbox), cudaHostAllocMapped));
    std::memset(shared, 0, sizeof(Mailbox));
    mail = static_cast<volatile Mailbox*>(shared);
    CHECK(cudaStreamCreateWithFlags(&running, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&copying, cudaStreamNonBlocking));
    auto* box = static_cast<Mailbox*>(shared);
    if (mailbox) serve<<<1, 1, 0, running>>>(&box->inbox, &box->done);
    else fill<<<1, 1, 0, running>>>(reinterpret_cast<float*>(shared));
    CHECK(cudaGetLastError());
  }
  float* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @alloc
  if (beside || mailbox) {
    if (started_with(argc, argv, "earlier-waited")) CHECK(cudaStreamSynchronize(running));
    if (mailbox) {
      mail->inbox = block;
      while (mail->done == 0) {}
    }
    CHECK(cudaMemcpyAsync(host.data(), block, kBytes, cudaMemcpyDeviceToHost, copying)); // @read-beside
    CHECK(cudaDeviceSynchronize());
    if (mailbox && host[kCount - 1] != 2.0f) return 4;
    CHECK(cudaFree(block));
    CHECK(cudaStreamDestroy(running));
    CHECK(cudaStreamDestroy(copying));
    CHECK(cudaFreeHost(const_cast<Mailbox*>(mail)));
    return 0;
  }
  if (started_with(argc, argv, "part"))
    CHECK(cudaMemcpy(block, host.data(), kCount, cudaMemcpyHostToDevice)); // forgot sizeof(float)
  else if (started_with(argc, argv, "kernel-elsewhere") || started_with(argc, argv, "unread"))
    fill<<<kCount / 256, 256>>>(nullptr);
  else if (started_with(argc, argv, "copied-on"))
    copy_on(block);
  else if (started_with(argc, argv, "set"))
    CHECK(cudaMemset(block, 0, kBytes));
  else if (started_with(argc, argv, "kernel"))
    fill<<<kCount / 256, 256>>>(block);
  else if (started_with(argc, argv, "graph"))
    set_by_graph(block);
  CHECK(cudaMemcpy(host.data(), block, kBytes, cudaMemcpyDeviceToHost)); // @read
  CHECK(cudaFree(block));
  return 0;
}
