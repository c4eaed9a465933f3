// SPDX-License-Identifier: Apache-2.0
// Two devices that work together: peer access, pools, virtual and managed memory that both reach, events from one to
// the other, a thread for each.
// run:
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
#include "answers.h"
#include "driver_function.h"
#include "two_devices.h"

#include <thread>

// A kernel of device 0 reads and writes memory of device 1; a copy goes from one to the other in a stream of either.
static void peers(const cudaStream_t* streams)
{
  float *first = nullptr, *second = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&second, kBytes));
  run_fill(second, 2, streams[1]);
  let_wait(streams[0], streams[1]);
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&first, kBytes));
  run_fill(first, 1, streams[0]);
  run_add(second, first, streams[0]);                                           // 3
  CHECK(cudaMemcpyPeerAsync(first, 0, second, 1, kBytes, streams[0]));          // 3
  run_add(first, second, streams[0]);                                           // 6
  CHECK(cudaMemcpyAsync(second, first, kBytes, cudaMemcpyDefault, streams[0])); // 6
  CHECK(cudaStreamSynchronize(streams[0]));
  must_hold(second, 6);
  CHECK(cudaFree(second)); // from device 0
  CHECK(cudaSetDevice(1));
  CHECK(cudaFree(first));
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
  let_wait(streams[0], streams[1]);
  CHECK(cudaSetDevice(0));
  run_add(values, values, streams[0]);
  CHECK(cudaStreamSynchronize(streams[0]));
  must_hold(values, 10);
  CHECK(cudaFreeAsync(values, streams[0]));
  CHECK(cudaStreamSynchronize(streams[0]));
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

int main()
{
  Streams streams;
  peers(streams.of_device);
  pools(streams.of_device);
  virtual_memory(streams.of_device);
  managed(streams.of_device);
  pinned(streams.of_device);
  threads();
  graph(streams.of_device[0]);
  return 0;
}
