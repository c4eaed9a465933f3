// SPDX-License-Identifier: Apache-2.0
// Driver calls that order work, in their rarer forms, played on the simulated device;
// test_records.py reads the trace. Results go to stdout, handles to stderr, one a line.
#include <cstdio>

#include <cuda.h>

namespace {

void say(const char* what, CUresult result) {
  std::printf("%s %d\n", what, static_cast<int>(result));
}
void print_handle(const char* what, const void* handle) {
  std::fprintf(stderr, "%s %p\n", what, handle);
}

// No such kernel: the records are those of a launch all the same.
void launch(CUstream stream, CUevent first, CUevent second) {
  CUlaunchAttribute attributes[3]{};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  attributes[0].value.programmaticEvent.event = first;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[2].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  attributes[2].value.launchCompletionEvent.event = second;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY =
    config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = 3;
  say("launch", cuLaunchKernelEx(&config, nullptr, nullptr, nullptr));
  config.numAttrs = 0;
  say("launch", cuLaunchKernelEx(&config, nullptr, nullptr, nullptr));
}

void nodes(CUevent first, CUevent second) {
  CUgraph graph = nullptr;
  CUgraphNode record = nullptr, wait = nullptr, host = nullptr, any = nullptr;
  CUgraphExec exec = nullptr;
  cuGraphCreate(&graph, 0);
  say("record node", cuGraphAddEventRecordNode(&record, graph, nullptr, 0, first));
  say("wait node", cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, first));
  say("other event", cuGraphEventRecordNodeSetEvent(record, second));
  CUDA_HOST_NODE_PARAMS function{[](void*) {}, nullptr};
  say("host node", cuGraphAddHostNode(&host, graph, nullptr, 0, &function));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  params.eventWait.event = second;
  say("any node", cuGraphAddNode(&any, graph, nullptr, nullptr, 0, &params));
  say("instantiate", cuGraphInstantiate(&exec, graph, 0));
  say("executable", cuGraphExecEventWaitNodeSetEvent(exec, wait, second));
  CUevent now = nullptr;
  say("asked", cuGraphEventRecordNodeGetEvent(record, &now));
  std::printf("changed %d\n", now == second);
  print_handle("graph", graph);
  print_handle("exec", exec);
  print_handle("record", record);
  print_handle("wait", wait);
  print_handle("host", host);
  print_handle("any", any);
}

} // namespace

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUevent first = nullptr, second = nullptr;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxSetCurrent(context);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&first, 0);
  cuEventCreate(&second, 0);
  say("context record", cuCtxRecordEvent(context, first));
  say("context wait", cuCtxWaitEvent(context, first));
  say("record", cuEventRecord(second, stream));
  float milliseconds = 0;
  say("elapsed", cuEventElapsedTime(&milliseconds, first, second));
  say("wait", cuStreamWaitEvent(stream, first, CU_EVENT_WAIT_EXTERNAL));
  launch(stream, first, second);
  nodes(first, second);
  print_handle("context", context);
  print_handle("stream", stream);
  print_handle("first", first);
  print_handle("second", second);
  return 0;
}
