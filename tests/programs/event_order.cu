// SPDX-License-Identifier: Apache-2.0
// Memory allocated on one stream and used on another, with the less common calls that order the two: an event of the
// whole context, one that the whole context waits for, a time between events that is known, events that nodes of graphs
// record and wait for, a host function in a graph, events that launches record, and those of green contexts. `none` has
// no order at all.
//
// run: none
// expect: error stream-order count=1 api=cudaMemsetAsync
// run: context-record
// expect: clean
// run: context-wait
// expect: clean
// run: elapsed
// expect: clean
// run: graph-record
// expect: clean
// run: graph-set-event
// expect: clean
// run: graph-wait
// expect: clean
// run: graph-any
// expect: clean
// run: graph-host
// expect: clean
// run: external
// expect: clean
// run: launch-event
// expect: clean
// not-checked: stream-race
// run: launch-completion
// expect: clean
// not-checked: stream-race
// run: green
// expect: clean
#include "answers.h"

#include <atomic>

#include <cuda.h>

constexpr size_t kBytes = 4096;

static cudaStream_t s1, s2;
static cudaEvent_t event, other;
static float* block;
static std::atomic<bool> signalled{false};

__global__ void fill(float* values)
{
  values[threadIdx.x] = 1.0f;
}

template <class Function> static Function driver_function(const char* name)
{
  void* found = nullptr;
#if CUDART_VERSION >= 13000
  CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12050, cudaEnableDefault, nullptr));
#else
  CHECK(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, nullptr));
#endif
  return reinterpret_cast<Function>(found);
}

static CUcontext context()
{
  CUcontext now = nullptr;
  CHECK(driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent")(&now));
  return now;
}

static void use_on_s2() { CHECK(cudaMemsetAsync(block, 0, kBytes, s2)); }

static void launch(cudaGraph_t graph, cudaStream_t stream, int times = 1)
{
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

static void record_by_graph(bool change)
{
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEventRecordNode(&node, graph, nullptr, 0, change ? other : event));
  if (change) CHECK(cudaGraphEventRecordNodeSetEvent(node, event));
  launch(graph, s1);
  CHECK(cudaStreamWaitEvent(s2, event, 0));
  use_on_s2();
}

static void wait_by_graph()
{
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaEventRecord(event, s1));
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddEventWaitNode(&node, graph, nullptr, 0, event));
  launch(graph, s2);
  use_on_s2();
}

static void add_event_node(cudaGraph_t graph)
{
  cudaGraphNodeParams params{};
  cudaGraphNode_t node = nullptr;
  params.type = cudaGraphNodeTypeEventRecord;
  params.eventRecord.event = event;
#if CUDART_VERSION >= 13000
  CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
#else
  CHECK(cudaGraphAddNode(&node, graph, nullptr, 0, &params));
#endif
}

static void record_by_any_node()
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  add_event_node(graph);
  launch(graph, s1);
  CHECK(cudaStreamWaitEvent(s2, event, 0));
  use_on_s2();
}

static void signal_host(void*) { signalled = true; }

static void signalled_by_graph()
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(s1, cudaStreamCaptureModeRelaxed));
  CHECK(cudaLaunchHostFunc(s1, signal_host, nullptr));
  CHECK(cudaStreamEndCapture(s1, &graph));
  launch(graph, s1);
  while (!signalled) {}
  use_on_s2();
}

static void leave_events_to_the_graph()
{
  cudaGraph_t graph = nullptr;
  CHECK(cudaEventRecord(other, s1));
  CHECK(cudaStreamBeginCapture(s2, cudaStreamCaptureModeRelaxed));
  CHECK(cudaStreamWaitEvent(s2, other, cudaEventWaitExternal));
  CHECK(cudaEventRecordWithFlags(event, s2, cudaEventRecordExternal));
  CHECK(cudaStreamEndCapture(s2, &graph));
  launch(graph, s2);
  use_on_s2();
}

static void record_by_launch(bool completion)
{
  cudaLaunchAttribute attribute{};
  if (completion) {
    attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
    attribute.val.launchCompletionEvent.event = event;
  } else {
    attribute.id = cudaLaunchAttributeProgrammaticEvent;
    attribute.val.programmaticEvent.event = event;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = s1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, fill, block));
  CHECK(cudaStreamWaitEvent(s2, event, 0));
  use_on_s2();
}

static void know_the_time()
{
  CHECK(cudaMemsetAsync(block, 0, kBytes, s1));
  CHECK(cudaEventRecord(other, s1));
  CHECK(cudaEventRecord(event, s1));
  float milliseconds = 0;
  cudaError_t answer = cudaErrorNotReady;
  while (answer == cudaErrorNotReady) answer = cudaEventElapsedTime(&milliseconds, other, event);
  CHECK(answer);
  use_on_s2();
}

static void order_by_context(bool record)
{
  if (record) {
    ANSWERS(0, driver_function<CUresult (*)(CUcontext, CUevent)>("cuCtxRecordEvent")(context(), event));
    CHECK(cudaStreamWaitEvent(s2, event, 0));
  } else {
    CHECK(cudaEventRecord(event, s1));
    ANSWERS(0, driver_function<CUresult (*)(CUcontext, CUevent)>("cuCtxWaitEvent")(context(), event));
  }
  use_on_s2();
}

// A green context of all multiprocessors: its events and its waits are those of its own streams.
static void order_by_green_context()
{
  CUdevResource all{};
  CUdevResourceDesc description = nullptr;
  CUgreenCtx green = nullptr;
  CUstream stream = nullptr;
  CUdevice device = 0;
  float* own = nullptr;
  ANSWERS(0, driver_function<CUresult (*)(CUdevice, CUdevResource*, CUdevResourceType)>("cuDeviceGetDevResource")(
               device, &all, CU_DEV_RESOURCE_TYPE_SM));
  ANSWERS(0, driver_function<CUresult (*)(CUdevResourceDesc*, CUdevResource*, unsigned)>("cuDevResourceGenerateDesc")(
               &description, &all, 1));
  ANSWERS(0, driver_function<CUresult (*)(CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned)>("cuGreenCtxCreate")(
               &green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
  ANSWERS(0, driver_function<CUresult (*)(CUstream*, CUgreenCtx, unsigned, int)>("cuGreenCtxStreamCreate")(
               &stream, green, CU_STREAM_NON_BLOCKING, 0));
  CHECK(cudaMallocAsync(&own, kBytes, stream));
  ANSWERS(0, driver_function<CUresult (*)(CUgreenCtx, CUevent)>("cuGreenCtxRecordEvent")(green, event));
  CHECK(cudaStreamWaitEvent(s2, event, 0));
  CHECK(cudaMemsetAsync(own, 0, kBytes, s2));
  CHECK(cudaEventRecord(other, s2));
  ANSWERS(0, driver_function<CUresult (*)(CUgreenCtx, CUevent)>("cuGreenCtxWaitEvent")(green, other));
  CHECK(cudaFreeAsync(own, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  ANSWERS(0, driver_function<CUresult (*)(CUgreenCtx)>("cuGreenCtxDestroy")(green));
  CHECK(cudaMemsetAsync(block, 0, kBytes, s1));
}

int main(int argc, char** argv)
{
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  // Events that launches record must have no time.
  const bool timed = is("elapsed");
  CHECK(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&other, timed ? cudaEventDefault : cudaEventDisableTiming));
  CHECK(cudaMallocAsync(&block, kBytes, s1));
  if (is("none")) use_on_s2();
  if (is("context-record")) order_by_context(true);
  if (is("context-wait")) order_by_context(false);
  if (is("elapsed")) know_the_time();
  if (is("graph-record")) record_by_graph(false);
  if (is("graph-set-event")) record_by_graph(true);
  if (is("graph-wait")) wait_by_graph();
  if (is("graph-any")) record_by_any_node();
  if (is("graph-host")) signalled_by_graph();
  if (is("external")) leave_events_to_the_graph();
  if (is("launch-event")) record_by_launch(false);
  if (is("launch-completion")) record_by_launch(true);
  if (is("green")) order_by_green_context();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeAsync(block, s1));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(other));
  CHECK(cudaStreamDestroy(s1));
  CHECK(cudaStreamDestroy(s2));
  return 0;
}
