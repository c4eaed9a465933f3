// SPDX-License-Identifier: Apache-2.0
// --kernel-checks with two devices, and with several contexts of one: each has its table, or shares that of its device. A kernel may use
// memory of the other device, of the host, of another context and of another process; what it does right is right there, and
// its mistakes are named. Each case has a twin without the mistake. It is one file because it is one list of such cases.
//
// unlike-fenced: blocks of the fence and checks in the code exclude each other
// run: mistakes
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 message="right behind the end of" stacks="accessed here"@fill:LINE(fill),"launched here"@own_memory:LINE(own),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 message="right behind the end of" stacks="accessed here"@fill:LINE(fill),"launched here"@own_memory:LINE(own),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@peers:LINE(peer),"allocated here"@make:LINE(make)
// expect: error kernel-use-after-free count=8 stacks="accessed here"@fill_held:LINE(held),"launched here"@peers:LINE(peer-late),"freed here"@peers:LINE(peer-free),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 message="managed memory" stacks="accessed here"@fill:LINE(fill),"launched here"@of_host:LINE(past-managed),"allocated here"@of_host:LINE(managed)
// expect: error kernel-out-of-bounds count=1 message="pinned" stacks="accessed here"@fill:LINE(fill),"launched here"@of_host:LINE(past-pinned),"allocated here"@of_host:LINE(pinned)
// expect: error kernel-out-of-bounds count=1 message="256 bytes of static device memory" stacks="accessed here"@fill_variable:LINE(variable),"launched here"@variables:LINE(past-variable),"looked up here"@variables:LINE(look-up)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@pools:LINE(past-pool),"allocated here"@pools:LINE(pool)
// expect: error kernel-out-of-bounds count=2 stacks="accessed here"@fill:LINE(fill),"captured here"@graphs:LINE(captured),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@resets:LINE(after-reset),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@resets:LINE(other-device),"allocated here"@make:LINE(make)
// run: right
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// run: plain right
// devices: 2
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
// run: contexts mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@contexts:LINE(second-context),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@contexts:LINE(first-memory),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@contexts:LINE(first-again),"allocated here"@make:LINE(make)
// run: contexts right
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// run: green mistakes
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@green:LINE(green-stream),"allocated here"@make:LINE(make)
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@green:LINE(green-current),"allocated here"@make:LINE(make)
// run: green right
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
// run: processes mistakes
// processes: 2
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@fill:LINE(fill),"launched here"@work_as_second:LINE(past-opened),"allocated here"@work_as_second:LINE(open)
// run: processes right
// processes: 2
// env: GPUMEMTRACE_SIM_KERNEL_CHECKS=1
// env: GPUMEMTRACE_SIM_DEVICE_CHECKS=none
// env: GPUMEMTRACE_SIM_MEMORY=256M
// env: GPUMEMTRACE_SIM_GAPS=0
// options: check --kernel-checks
// expect: clean
#include "answers.h"
#include "driver_function.h"

#include <sys/wait.h>
#include <unistd.h>

static int past = 0; // 1: mistakes are made
constexpr int kValues = 1000;
constexpr size_t kBytes = kValues * sizeof(int);

__device__ int variable[64];

__global__ void fill(int* to, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    to[i] = i; // @fill
}

__global__ void fill_held(int* const* holder, int n)
{
  const int i = threadIdx.x;
  if (i < n)
    holder[0][i] = i; // @held
}

__global__ void fill_variable(int n)
{
  const int i = threadIdx.x;
  if (i < n)
    variable[i] = i; // @variable
}

static int* make()
{
  int* block = nullptr;
  CHECK(cudaMalloc(&block, kBytes)); // @make
  TOUCH(block, kBytes);
  CHECK(cudaDeviceSynchronize());
  return block;
}

static void must_hold(const int* block, int n)
{
  int values[kValues];
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(values, block, n * sizeof(int), cudaMemcpyDefault));
  for (int i = 0; i < n; ++i)
    ANSWERS(i, values[i]);
}

// The size is what was asked for, to the byte.
static void must_have_size(const int* block, size_t bytes)
{
  CUdeviceptr begin = 0;
  size_t has = 0;
  CHECK(driver_function<decltype(cuMemGetAddressRange)>("cuMemGetAddressRange", 4000)(
    &begin, &has, reinterpret_cast<CUdeviceptr>(block)));
  ANSWERS(static_cast<int>(bytes), static_cast<int>(has));
}

static void own_memory()
{
  int* blocks[2];
  for (int device : {0, 1}) {
    CHECK(cudaSetDevice(device));
    blocks[device] = make();
  }
  for (int device : {1, 0}) {
    CHECK(cudaSetDevice(device));
    fill<<<8, 128>>>(blocks[device], kValues + past); // @own
  }
  for (int device : {0, 1}) { // freed where the other device is current
    CHECK(cudaSetDevice(device));
    must_hold(blocks[device], kValues);
    must_have_size(blocks[device], kBytes);
    CHECK(cudaSetDevice(1 - device));
    CHECK(cudaFree(blocks[device]));
  }
}

// Device 0 uses memory that device 1 has had before it could reach it, and later one.
static void peers()
{
  CHECK(cudaSetDevice(1));
  int *early = make(), **holder = nullptr;
  CHECK(cudaSetDevice(0));
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  CHECK(cudaMallocManaged(&holder, sizeof *holder));
  CHECK(cudaSetDevice(1));
  int* late = make();
  holder[0] = late;
  CHECK(cudaSetDevice(0));
  fill<<<8, 128>>>(early, kValues + past); // @peer
  fill_held<<<1, 32>>>(holder, 8);
  must_hold(early, kValues);
  if (past)
    CHECK(cudaFree(late)); // @peer-free
  fill_held<<<1, 32>>>(holder, 8); // @peer-late
  CHECK(cudaDeviceSynchronize());
  if (!past)
    CHECK(cudaFree(late));
  CHECK(cudaFree(early));
  CHECK(cudaFree(holder));
  CHECK(cudaDeviceDisablePeerAccess(1));
}

// Each device may use it, whichever was current when it was allocated.
static void of_host()
{
  int *managed = nullptr, *pinned = nullptr;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMallocManaged(&managed, kBytes)); // @managed
  CHECK(cudaSetDevice(0));
  CHECK(cudaHostAlloc(&pinned, kBytes, cudaHostAllocPortable)); // @pinned
  fill<<<8, 128>>>(managed, kValues + past); // @past-managed
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaSetDevice(1));
  fill<<<8, 128>>>(managed, kValues);
  fill<<<8, 128>>>(pinned, kValues + past); // @past-pinned
  CHECK(cudaDeviceSynchronize());
  ANSWERS(999, pinned[999]);
  CHECK(cudaFree(managed));
  CHECK(cudaFreeHost(pinned));
}

static void variables()
{
  int* found = nullptr;
  for (int device : {0, 1}) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&found), variable)); // @look-up
    fill_variable<<<1, 96>>>(64 + (device == 1 ? past : 0)); // @past-variable
    must_hold(found, 64);
  }
}

static void pools()
{
  for (int device : {0, 1}) {
    int* block = nullptr;
    cudaStream_t stream;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 3; ++i) {
      CHECK(cudaMallocAsync(&block, kBytes, stream)); // @pool
      fill<<<8, 128, 0, stream>>>(block, kValues + (device == 1 && i == 2 ? past : 0)); // @past-pool
      CHECK(cudaFreeAsync(block, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
  }
}

static void graphs()
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaSetDevice(1));
  int* block = make();
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  fill<<<8, 128, 0, stream>>>(block, kValues + past); // @captured
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i)
    CHECK(cudaGraphLaunch(executable, stream));
  must_hold(block, kValues);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(block));
}

// The one device begins anew, and the other one goes on.
static void resets()
{
  CHECK(cudaSetDevice(0));
  int* others = make();
  CHECK(cudaSetDevice(1));
  int* block = make();
  fill<<<8, 128>>>(block, kValues);
  must_hold(block, kValues);
  CHECK(cudaFree(block));
  CHECK(cudaDeviceReset());
  CHECK(cudaSetDevice(0));
  fill<<<8, 128>>>(others, kValues + past); // @other-device
  must_hold(others, kValues);
  CHECK(cudaSetDevice(1));
  block = make();
  fill<<<8, 128>>>(block, kValues + past); // @after-reset
  must_hold(block, kValues);
  CHECK(cudaFree(block));
  CHECK(cudaFree(others));
}

// Kernels of one context may use memory of another one of the device.
static void contexts()
{
  CUcontext first, second;
  const auto enter = driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000);
  for (int round = 0; round < 2; ++round) {
    const int mistakes = round == 0 ? past : 0;
    CHECK(cudaSetDevice(0));
    int* of_first = make();
    CHECK(driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent", 4000)(&first));
    CHECK(driver_function<CUresult(CUcontext*, CUctxCreateParams*, unsigned, CUdevice)>("cuCtxCreate", 12050)(
      &second, nullptr, 0, 0));
    int* of_second = make();
    fill<<<8, 128>>>(of_second, kValues + mistakes); // @second-context
    fill<<<8, 128>>>(of_first, kValues + mistakes); // @first-memory
    CHECK(cudaDeviceSynchronize());
    must_hold(of_second, kValues);
    CHECK(cudaFree(of_second));
    CHECK(enter(first));
    int* later = make(); // may get what the second one had
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(second));
    fill<<<8, 128>>>(of_first, kValues);
    fill<<<8, 128>>>(later, kValues + mistakes); // @first-again
    must_hold(later, kValues);
    CHECK(cudaFree(later));
    CHECK(cudaFree(of_first));
  }
}

// A part of the multiprocessors, with the memory and the variables of the primary context. Another context may get the handle of one that
// has ended.
static void green()
{
  CUcontext first;
  CUdevResource all, part;
  CUdevResourceDesc description;
  unsigned groups = 1;
  CHECK(cudaSetDevice(0));
  int *of_first = make(), *found = nullptr;
  CHECK(driver_function<CUresult(CUcontext*)>("cuCtxGetCurrent", 4000)(&first));
  CHECK(driver_function<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource", 12040)(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  CHECK(driver_function<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount", 12040)(&part, &groups, &all, nullptr, 0, 16));
  CHECK(driver_function<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc", 12040)(&description, &part, 1));
  for (int round = 0; round < 2; ++round) {
    CUgreenCtx context;
    CUcontext current, other;
    CUstream stream;
    const int mistakes = round == 0 ? past : 0;
    CHECK(driver_function<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate", 12040)(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    CHECK(driver_function<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate", 12050)(&stream, context, CU_STREAM_NON_BLOCKING, 0));
    fill<<<8, 128, 0, stream>>>(of_first, kValues + mistakes); // @green-stream
    CHECK(cudaStreamSynchronize(stream));
    must_hold(of_first, kValues);
    CHECK(driver_function<decltype(cuCtxFromGreenCtx)>("cuCtxFromGreenCtx", 12040)(&current, context));
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000)(current));
    int* own = make();
    fill<<<8, 128>>>(own, kValues + mistakes); // @green-current
    fill_variable<<<1, 64>>>(64);
    must_hold(own, kValues);
    CHECK(cudaFree(own));
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000)(first));
    CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&found), variable));
    must_hold(found, 64);
    CHECK(cudaStreamDestroy(stream));
    CHECK(driver_function<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy", 12040)(context));
    CHECK(driver_function<CUresult(CUcontext*, CUctxCreateParams*, unsigned, CUdevice)>("cuCtxCreate", 12050)(
      &other, nullptr, 0, 0));
    own = make();
    fill<<<8, 128>>>(own, kValues);
    must_hold(own, kValues);
    CHECK(cudaFree(own));
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxDestroy", 4000)(other));
    CHECK(driver_function<CUresult(CUcontext)>("cuCtxSetCurrent", 4000)(first));
  }
  CHECK(cudaFree(of_first));
}

static int work_as_second()
{
  cudaIpcMemHandle_t handle;
  int* block = nullptr;
  if (read(0, &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle))
    return 1;
  CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&block), handle, cudaIpcMemLazyEnablePeerAccess)); // @open
  must_have_size(block, kBytes);
  fill<<<8, 128>>>(block, kValues + past); // @past-opened
  must_hold(block, kValues);
  CHECK(cudaIpcCloseMemHandle(block));
  int* blocks[8];
  for (int*& each : blocks) { // what lies there now is not the other process's
    each = make();
    fill<<<8, 128>>>(each, kValues);
    must_hold(each, kValues);
  }
  for (int* each : blocks)
    CHECK(cudaFree(each));
  return 0;
}

static void processes()
{
  int ends[2];
  cudaIpcMemHandle_t handle;
  int* block = make();
  CHECK(cudaIpcGetMemHandle(&handle, block));
  if (pipe(ends) != 0 || write(ends[1], &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle))
    std::exit(1);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[0], 0);
    execl("/proc/self/exe", "kernel_checks_devices", "second", past ? "mistakes" : "right", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ANSWERS(0, status);
  fill<<<8, 128>>>(block, kValues);
  must_hold(block, kValues);
  CHECK(cudaFree(block));
}

int main(int argc, char** argv)
{
  past = std::strcmp(argv[argc - 1], "mistakes") == 0 ? 1 : 0;
  if (started_with(argc, argv, "second"))
    return work_as_second();
  if (started_with(argc, argv, "contexts")) {
    contexts();
  } else if (started_with(argc, argv, "green")) {
    green();
  } else if (started_with(argc, argv, "processes")) {
    processes();
  } else {
    own_memory();
    peers();
    of_host();
    variables();
    pools();
    graphs();
    resets();
  }
  return 0;
}
