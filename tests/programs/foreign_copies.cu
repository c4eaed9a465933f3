// SPDX-License-Identifier: Apache-2.0
// Copies of one device's memory while the other one is current, which needs no peer access; a set does. Under --guard
// the memory is a mapping, of which CUDA refuses these copies.
//
// run:
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: warning api-error count=1 stacks="failed here"@in_nodes:LINE(elsewhere)
// run: out-of-reach
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// env: GPUMEMTRACE_SIM_PEER_ACCESS=0
// expect: warning api-error count=1 stacks="failed here"@in_nodes:LINE(elsewhere)
// run: large
// device: gpu
// devices: 2
// expect: clean
// run: set
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: warning api-error count=1 api=cudaMemset stacks="failed here"@set:LINE(set)
// run: pool
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: warning api-error count=1 api=cudaMemcpy stacks="failed here"@pool:LINE(pool)
#include "answers.h"

#include <vector>

constexpr size_t kBytes = 64 * 256, kPitch = 256, kRows = 64;

// Memory of device 0; device 1 is current.
struct Work {
  unsigned char *first, *second; // of device 0
  unsigned char* own;            // of device 1
  cudaStream_t of_owner, of_current;
  unsigned char value = 0; // of the bytes of the last copy

  std::vector<unsigned char> next() { return std::vector<unsigned char>(kBytes, ++value); }
};

static void must_hold(const unsigned char* bytes, size_t count, int value)
{
  for (size_t i = 0; i < count; ++i)
    ANSWERS(value, bytes[i]);
}

static void must_hold(const Work& work, const unsigned char* memory, size_t count = kBytes)
{
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamSynchronize(work.of_owner));
  std::vector<unsigned char> got(count);
  CHECK(cudaMemcpy(got.data(), memory, count, cudaMemcpyDefault));
  must_hold(got.data(), count, work.value);
}

// Between the host and the other device.
static void with_host(Work& work)
{
  std::vector<unsigned char> sent = work.next(), got(kBytes);
  CHECK(cudaMemcpy(work.first, sent.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(got.data(), work.first, kBytes, cudaMemcpyDeviceToHost));
  must_hold(got.data(), kBytes, work.value);
  for (cudaStream_t stream : {work.of_owner, work.of_current, cudaStream_t{nullptr}, cudaStreamPerThread}) {
    sent = work.next();
    CHECK(cudaMemcpyAsync(work.first, sent.data(), kBytes, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(got.data(), work.first, kBytes, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    must_hold(got.data(), kBytes, work.value);
  }
}

// From the other device to itself, and to and from this one.
static void between_devices(Work& work)
{
  std::vector<unsigned char> sent = work.next();
  CHECK(cudaMemcpy(work.first, sent.data(), kBytes, cudaMemcpyDefault));
  CHECK(cudaMemcpy(work.second, work.first, kBytes, cudaMemcpyDeviceToDevice));
  must_hold(work, work.second);
  CHECK(cudaMemcpy(work.own, work.second, kBytes, cudaMemcpyDeviceToDevice));
  must_hold(work, work.own);
  sent = work.next();
  CHECK(cudaMemcpy(work.own, sent.data(), kBytes, cudaMemcpyDefault));
  CHECK(cudaDeviceSynchronize()); // pageable memory: the copy may still be under way, and the stream does not wait
  CHECK(cudaMemcpyAsync(work.first, work.own, kBytes, cudaMemcpyDefault, work.of_current));
  CHECK(cudaMemcpyAsync(work.second, work.first, kBytes, cudaMemcpyDefault, work.of_current));
  must_hold(work, work.second);
}

// Rows, a box, and an array of this device.
static void shapes(Work& work)
{
  std::vector<unsigned char> sent = work.next();
  CHECK(cudaMemcpy2D(work.first, kPitch, sent.data(), 100, 100, kRows, cudaMemcpyHostToDevice));
  must_hold(work, work.first, 100);
  must_hold(work, work.first + (kRows - 1) * kPitch, 100);
  sent = work.next();
  CHECK(cudaMemcpy2DAsync(work.first, kPitch, sent.data(), 100, 100, kRows, cudaMemcpyHostToDevice, work.of_current));
  must_hold(work, work.first + (kRows - 1) * kPitch, 100);

  sent = work.next();
  cudaMemcpy3DParms box{};
  box.srcPtr = make_cudaPitchedPtr(sent.data(), 64, 64, 16);
  box.dstPtr = make_cudaPitchedPtr(work.second, kPitch, 64, 16);
  box.dstPos = make_cudaPos(16, 2, 1);
  box.extent = make_cudaExtent(48, 8, 2);
  box.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&box));
  must_hold(work, work.second + (16 + 2) * kPitch + 16, 48);
  must_hold(work, work.second + (2 * 16 + 2 + 7) * kPitch + 16, 48);

  sent = work.next();
  CHECK(cudaMemcpy(work.first, sent.data(), kBytes, cudaMemcpyDefault));
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &bytes, kPitch, kRows));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, work.first, kPitch, kPitch, kRows, cudaMemcpyDefault));
  CHECK(cudaMemcpy2DFromArray(work.own, kPitch, array, 0, 0, kPitch, kRows, cudaMemcpyDefault));
  must_hold(work, work.own);
  CHECK(cudaFreeArray(array));
}

// Pinned memory of the next value.
static unsigned char* pinned_next(Work& work)
{
  unsigned char* sent = nullptr;
  CHECK(cudaMallocHost(&sent, kBytes));
  std::memset(sent, ++work.value, kBytes);
  return sent;
}

static cudaGraphExec_t launched(cudaGraph_t graph, cudaStream_t stream)
{
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
  return ready;
}

static void captured(Work& work)
{
  unsigned char* sent = pinned_next(work);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(work.of_current, cudaStreamCaptureModeThreadLocal));
  CHECK(cudaMemcpyAsync(work.first, sent, kBytes, cudaMemcpyDefault, work.of_current));
  CHECK(cudaMemcpyAsync(work.second, work.first, kBytes, cudaMemcpyDefault, work.of_current));
  CHECK(cudaStreamEndCapture(work.of_current, &graph));
  cudaGraphExec_t ready = launched(graph, work.of_current);
  must_hold(work, work.second);
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFreeHost(sent));
}

// Nodes made by hand, one of which then copies to other memory.
static void in_nodes(Work& work)
{
  unsigned char* sent = pinned_next(work);
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t first = nullptr, second = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddMemcpyNode1D(&first, graph, nullptr, 0, work.first, sent, kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaGraphAddMemcpyNode1D(&second, graph, &first, 1, work.second, work.first, kBytes, cudaMemcpyDefault));
  cudaGraphExec_t ready = launched(graph, work.of_current);
  must_hold(work, work.second);
  // Both sides must stay in the memory, and with the device, that they were in
  constexpr auto kind = cudaMemcpyHostToDevice;
  const auto refused = cudaGraphExecMemcpyNodeSetParams1D(ready, second, work.second, sent, kBytes, kind); // @elsewhere
  ANSWERS(cudaErrorInvalidValue, refused);
  unsigned char* other = pinned_next(work);
  CHECK(cudaGraphExecMemcpyNodeSetParams1D(ready, first, work.first, other, kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaGraphLaunch(ready, work.of_current));
  must_hold(work, work.second);
  CHECK(cudaFreeHost(other));
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFreeHost(sent));
}

// More than one copy of rows can take.
static void large()
{
  const size_t bytes = (size_t{5} << 28) + 12;
  unsigned char* memory = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&memory, bytes));
  CHECK(cudaSetDevice(1));
  std::vector<unsigned char> sent(bytes, 7), got(bytes);
  CHECK(cudaMemcpy(memory, sent.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(got.data(), memory, bytes, cudaMemcpyDeviceToHost));
  CHECK(got != sent);
  CHECK(cudaFree(memory));
}

static void set(const Work& work)
{
  ANSWERS(cudaErrorInvalidValue, cudaMemset(work.first, 0, kBytes)); // @set
}

// A pool's memory needs the pool's access.
static void pool(cudaStream_t stream)
{
  unsigned char* memory = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMallocAsync(&memory, kBytes, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaSetDevice(1));
  const std::vector<unsigned char> sent(kBytes, 3);
  ANSWERS(cudaErrorInvalidValue, cudaMemcpy(memory, sent.data(), kBytes, cudaMemcpyHostToDevice)); // @pool
  cudaMemPool_t of_owner = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&of_owner, 0));
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, 1};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK(cudaMemPoolSetAccess(of_owner, &access, 1));
  CHECK(cudaMemcpy(memory, sent.data(), kBytes, cudaMemcpyHostToDevice));
  CHECK(cudaFreeAsync(memory, stream));
  CHECK(cudaStreamSynchronize(stream));
}

int main(int argc, char** argv)
{
  Work work{};
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&work.first, kBytes));
  CHECK(cudaMalloc(&work.second, kBytes));
  TOUCH(work.first, kBytes);
  TOUCH(work.second, kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamCreate(&work.of_owner));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&work.own, kBytes));
  TOUCH(work.own, kBytes);
  CHECK(cudaStreamCreateWithFlags(&work.of_current, cudaStreamNonBlocking));
  CHECK(cudaDeviceSynchronize());
  if (started_with(argc, argv, "large"))
    large();
  else if (started_with(argc, argv, "set"))
    set(work);
  else if (started_with(argc, argv, "pool"))
    pool(work.of_owner);
  else {
    with_host(work);
    between_devices(work);
    shapes(work);
    captured(work);
    in_nodes(work);
  }
  CHECK(cudaFree(work.first));
  CHECK(cudaFree(work.second));
  CHECK(cudaFree(work.own));
  CHECK(cudaStreamDestroy(work.of_owner));
  CHECK(cudaStreamDestroy(work.of_current));
  return 0;
}
