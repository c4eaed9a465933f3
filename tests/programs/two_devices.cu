// SPDX-License-Identifier: Apache-2.0
// Two devices that work together: peer access, pools, virtual and managed memory that both reach, events from one to
// the other, a thread for each, and mistakes on the second device while the first one works.
// run:
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: leak
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error leak count=1 bytes=4096 stacks="allocated here"@leak_on:LINE(leaked)
// run: unordered
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error stream-order count=1 stacks="used here"@unordered:LINE(unordered),"allocated here"@unordered:LINE(ordered)
// run: freed
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// unlike-fenced: the driver ends the program behind its core dump
// expect-simulated: error kernel-use-after-free stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"freed here"@fault:LINE(freed),"allocated here"@fault:LINE(block)
// expect-real: warning api-error message="kernels that may have been running: fill_held" stacks="failed here"@fault:LINE(waited),"launched here"@fault:LINE(launch)
// not-checked: leak
// run: freed-fenced
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// options: --guard
// exit-real: signal 6
// expect: error kernel-use-after-free stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"freed here"@fault:LINE(freed),"allocated here"@fault:LINE(block)
// not-checked: leak
// run: overrun-fenced
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// options: --guard
// exit-real: signal 6
// expect: error kernel-out-of-bounds stacks="accessed here"@fill_held:LINE(held),"launched here"@fault:LINE(launch),"allocated here"@fault:LINE(block)
// not-checked: leak
#include "answers.h"
#include "driver_function.h"

#include <thread>
#include <vector>

constexpr int kValues = 1 << 16;
constexpr size_t kBytes = kValues * sizeof(float);

struct Holder {
  float* values;
};

__global__ void add(float* to, const float* from, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] += from[i];
}

__global__ void fill(float* to, float value, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = value; // @fill
}

__global__ void fill_held(const Holder* holder, float value, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) holder->values[i] = value; // @held
}

static void run_fill(float* to, float value, cudaStream_t stream)
{
  fill<<<kValues / 256, 256, 0, stream>>>(to, value, kValues);
  CHECK(cudaGetLastError());
}

static void run_add(float* to, const float* from, cudaStream_t stream)
{
  add<<<kValues / 256, 256, 0, stream>>>(to, from, kValues);
  CHECK(cudaGetLastError());
}

static void must_hold(const float* values, float expected)
{
  std::vector<float> got(kValues);
  CHECK(cudaMemcpy(got.data(), values, kBytes, cudaMemcpyDeviceToHost));
  for (float value : got)
    ANSWERS(static_cast<int>(expected), static_cast<int>(value));
}

// A kernel of device 0 reads and writes memory of device 1; a copy goes from one to the other in a stream of either.
static void peers(const cudaStream_t* streams)
{
  float *first = nullptr, *second = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&second, kBytes));
  run_fill(second, 2, streams[1]);
  cudaEvent_t filled = nullptr;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventRecord(filled, streams[1]));
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&first, kBytes));
  run_fill(first, 1, streams[0]);
  CHECK(cudaStreamWaitEvent(streams[0], filled, 0));
  run_add(second, first, streams[0]);                                           // 3
  CHECK(cudaMemcpyPeerAsync(first, 0, second, 1, kBytes, streams[0]));          // 3
  run_add(first, second, streams[0]);                                           // 6
  CHECK(cudaMemcpyAsync(second, first, kBytes, cudaMemcpyDefault, streams[0])); // 6
  CHECK(cudaStreamSynchronize(streams[0]));
  must_hold(second, 6);
  CHECK(cudaFree(second)); // from device 0
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(first));
  CHECK(cudaEventDestroy(filled));
}

static void let_use(cudaMemPool_t pool, int device)
{
  cudaMemAccessDesc access{};
  access.location = {cudaMemLocationTypeDevice, device};
  access.flags = cudaMemAccessFlagsProtReadWrite;
  CHECK(cudaMemPoolSetAccess(pool, &access, 1));
}

// Memory of device 1's pool, used by device 0 and freed in one of its streams.
static void pools(const cudaStream_t* streams)
{
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
  let_use(pool, 0);
  CHECK(cudaSetDevice(1));
  float* values = nullptr;
  CHECK(cudaMallocAsync(&values, kBytes, streams[1]));
  run_fill(values, 5, streams[1]);
  cudaEvent_t filled = nullptr;
  CHECK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CHECK(cudaEventRecord(filled, streams[1]));
  CHECK(cudaSetDevice(0));
  CHECK(cudaStreamWaitEvent(streams[0], filled, 0));
  run_add(values, values, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
  must_hold(values, 10);
  CHECK(cudaFreeAsync(values, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
  CHECK(cudaEventDestroy(filled));
}

// Physical memory of device 1 behind addresses that both devices may use.
static void virtual_memory(const cudaStream_t* streams)
{
  const auto granularity_of = driver_function<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity", 10020);
  const auto create = driver_function<decltype(cuMemCreate)>("cuMemCreate", 10020);
  const auto reserve = driver_function<decltype(cuMemAddressReserve)>("cuMemAddressReserve", 10020);
  const auto map = driver_function<decltype(cuMemMap)>("cuMemMap", 10020);
  const auto let = driver_function<decltype(cuMemSetAccess)>("cuMemSetAccess", 10020);
  const auto unmap = driver_function<decltype(cuMemUnmap)>("cuMemUnmap", 10020);
  const auto free_address = driver_function<decltype(cuMemAddressFree)>("cuMemAddressFree", 10020);
  const auto release = driver_function<decltype(cuMemRelease)>("cuMemRelease", 10020);
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  size_t granularity = 0;
  CHECK(granularity_of(&granularity, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  const size_t bytes = (kBytes + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  CHECK(create(&handle, bytes, &what, 0));
  CHECK(reserve(&address, bytes, 0, 0, 0));
  CHECK(map(address, bytes, 0, handle, 0));
  CUmemAccessDesc access[2] = {};
  for (int device = 0; device < 2; ++device) {
    access[device].location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    access[device].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CHECK(let(address, bytes, access, 2));
  auto* values = reinterpret_cast<float*>(address);
  CHECK(cudaSetDevice(1));
  run_fill(values, 7, streams[1]);
  CHECK(cudaStreamSynchronize(streams[1]));
  CHECK(cudaSetDevice(0));
  run_add(values, values, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
  must_hold(values, 14);
  CHECK(unmap(address, bytes));
  CHECK(free_address(address, bytes));
  CHECK(release(handle));
}

static void managed(const cudaStream_t* streams)
{
  float* values = nullptr;
  CHECK(cudaMallocManaged(&values, kBytes));
  for (int device = 0; device < 2; ++device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaMemPrefetchAsync(values, kBytes, {cudaMemLocationTypeDevice, device}, 0, streams[device]));
    if (device == 0)
      run_fill(values, 4, streams[0]);
    else
      run_add(values, values, streams[1]);
    CHECK(cudaStreamSynchronize(streams[device]));
  }
  ANSWERS(8, static_cast<int>(values[kValues - 1]));
  CHECK(cudaFree(values));
}

// Pinned memory of one device is every device's.
static void pinned(const cudaStream_t* streams)
{
  float* values = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMallocHost(&values, kBytes));
  CHECK(cudaSetDevice(1));
  run_fill(values, 9, streams[1]);
  CHECK(cudaStreamSynchronize(streams[1]));
  ANSWERS(9, static_cast<int>(values[0]));
  CHECK(cudaFreeHost(values));
}

// Work on a device by a thread of its own.
static void work_alone(int device)
{
  CHECK(cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < 50; ++i) {
    float *values = nullptr, *pooled = nullptr;
    CHECK(cudaMalloc(&values, kBytes));
    CHECK(cudaMallocAsync(&pooled, kBytes, stream));
    run_fill(pooled, 3, stream);
    run_fill(values, 4, stream);
    run_add(values, pooled, stream);
    CHECK(cudaFreeAsync(pooled, stream));
    CHECK(cudaStreamSynchronize(stream));
    must_hold(values, 7);
    CHECK(cudaFree(values));
  }
  CHECK(cudaStreamDestroy(stream));
}

static void threads()
{
  std::thread other(work_alone, 1);
  work_alone(0);
  other.join();
}

// A graph of device 0 that copies from device 1.
static void graph(cudaStream_t stream)
{
  float *first = nullptr, *second = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&second, kBytes));
  TOUCH(second, kBytes);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&first, kBytes));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  run_fill(first, 8, stream);
  CHECK(cudaMemcpyAsync(second, first, kBytes, cudaMemcpyDefault, stream));
  run_add(first, second, stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 3; ++i)
    CHECK(cudaGraphLaunch(ready, stream));
  CHECK(cudaStreamSynchronize(stream));
  must_hold(first, 16);
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
}

static void leak_on(int device)
{
  void* kept = nullptr;
  CHECK(cudaSetDevice(device));
  CHECK(cudaMalloc(&kept, 4096)); // @leaked
  TOUCH(kept, 4096);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(0));
}

// Device 0 uses memory of device 1's pool and does not wait for it.
static void unordered(const cudaStream_t* streams)
{
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 1));
  let_use(pool, 0);
  CHECK(cudaSetDevice(1));
  float* values = nullptr;
  CHECK(cudaMallocAsync(&values, kBytes, streams[1])); // @ordered
  CHECK(cudaSetDevice(0));
  CHECK(cudaMemsetAsync(values, 0, kBytes, streams[0])); // @unordered
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  CHECK(cudaFreeAsync(values, streams[1]));
  CHECK(cudaDeviceSynchronize());
}

static void reach_each_other()
{
  for (int device = 0; device < 2; ++device) {
    int possible = 0;
    CHECK(cudaDeviceCanAccessPeer(&possible, device, 1 - device));
    CHECK(!possible);
    CHECK(cudaSetDevice(device));
    CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
  }
}

// The mistake of device 1's kernel comes while device 0 works.
static void fault(const cudaStream_t* streams, size_t bytes, int count, bool freed)
{
  float *values = nullptr, *others = nullptr;
  Holder* holder = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&others, kBytes));
  for (int i = 0; i < 20; ++i)
    run_fill(others, 1, streams[0]);
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&values, bytes)); // @block
  CHECK(cudaMalloc(&holder, sizeof *holder));
  const Holder held{values};
  CHECK(cudaMemcpy(holder, &held, sizeof held, cudaMemcpyHostToDevice));
  run_fill(values, 1, streams[1]);
  CHECK(cudaStreamSynchronize(streams[1]));
  if (freed)
    CHECK(cudaFree(values)); // @freed
  fill_held<<<(count + 255) / 256, 256, 0, streams[1]>>>(holder, 2, count); // @launch
  CHECK(cudaSetDevice(0));
  for (int i = 0; i < 20; ++i)
    run_fill(others, 1, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0])); // its context lives on
  CHECK(cudaFree(others));
  CHECK(cudaSetDevice(1));
  const int answer = cudaStreamSynchronize(streams[1]); // @waited
  std::printf("device 1 answers %d\n", answer);
  if (answer != 0)
    return;
  CHECK(cudaFree(holder));
  if (!freed)
    CHECK(cudaFree(values));
}

int main(int argc, char** argv)
{
  reach_each_other();
  cudaStream_t streams[2] = {};
  for (int device = 0; device < 2; ++device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
  }
  CHECK(cudaSetDevice(0));
  if (started_with(argc, argv, "leak"))
    leak_on(1);
  else if (started_with(argc, argv, "unordered"))
    unordered(streams);
  else if (started_with(argc, argv, "freed") || started_with(argc, argv, "freed-fenced"))
    fault(streams, size_t{64} << 20, kValues, true);
  else if (started_with(argc, argv, "overrun-fenced"))
    fault(streams, kBytes, kValues + 64, false);
  else {
    peers(streams);
    pools(streams);
    virtual_memory(streams);
    managed(streams);
    pinned(streams);
    threads();
    graph(streams[0]);
  }
  for (int device = 0; device < 2; ++device)
    (void)cudaStreamDestroy(streams[device]);
  return 0;
}
