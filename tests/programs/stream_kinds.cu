// SPDX-License-Identifier: Apache-2.0
// Kinds of work on two streams that races, each with its right twin, in which something orders the two.
// It is one file because it is one list: a function of each kind, its twin, and the finding that it must have.
//
// run: racy
// device: simulated
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: error stream-race line=LINE(set_and_copy)
// expect: error stream-race line=LINE(two_sets)
// expect: error stream-race line=LINE(copies_to_one_block)
// expect: error stream-race line=LINE(copies_to_one_host_buffer)
// expect: error stream-race line=LINE(source_is_overwritten)
// expect: error stream-race line=LINE(host_source_is_overwritten)
// expect: error stream-race line=LINE(last_byte)
// expect: error stream-race line=LINE(rows)
// expect: error stream-race line=LINE(event_before_the_work)
// expect: error stream-race line=LINE(event_of_another_stream)
// expect: error stream-race line=LINE(wait_behind_the_work)
// expect: error stream-race line=LINE(wait_by_another_stream)
// expect: error stream-race line=LINE(event_that_is_recorded_again)
// expect: error stream-race line=LINE(host_waits_for_another_stream)
// expect: error stream-race line=LINE(host_waits_for_an_event)
// expect: error stream-race line=LINE(over_a_third_stream)
// expect: error stream-race line=LINE(default_stream_and_one_beside)
// expect: error stream-race line=LINE(set_without_a_stream)
// expect: error stream-race line=LINE(copy_on_the_device_without_a_stream)
// expect: error stream-race line=LINE(streams_with_priorities)
// expect: error stream-race line=LINE(kernel_and_set)
// expect: error stream-race line=LINE(kernel_and_copy)
// expect: error stream-race line=LINE(copy_and_kernel)
// expect: error stream-race line=LINE(kernels)
// expect: error stream-race line=LINE(readers_and_a_writer)
// expect: error stream-race line=LINE(memory_of_a_pool)
// expect: error stream-race line=LINE(variable_of_the_device)
// expect: error stream-race line=LINE(managed_memory)
// expect: error stream-race line=LINE(registered_memory)
// expect: error stream-race line=LINE(copy_between_devices)
// expect: error stream-race line=LINE(copy_that_all_wait_for)
// expect: error stream-race line=LINE(peer_copy_within_a_device)
// expect: error stream-race line=LINE(parts_of_one_buffer)
// expect: error stream-race line=LINE(every_other_word)
// expect: error stream-race line=LINE(pointer_in_memory)
// expect: error stream-race line=LINE(gathered_parts)
// expect: error stream-race line=LINE(counter_of_another_kernel)
// expect: error stream-race line=LINE(input_of_two_kernels)
// expect: error stream-race line=LINE(set_of_pinned_memory)
// expect: error stream-race line=LINE(set_of_what_is_copied)
// expect: error stream-race line=LINE(rows_of_pinned_memory)
// expect: error stream-race line=LINE(batch_of_copies)
// expect: error stream-race line=LINE(event_node)
// expect: error stream-race line=LINE(graph_with_other_memory)
// expect: error stream-race line=LINE(graph_and_copy)
// expect: error stream-race line=LINE(two_graphs)
// expect: error stream-race line=LINE(branches_of_a_graph)
// expect: error stream-race line=LINE(nodes_of_a_graph)
// expect: error stream-race line=LINE(child_graph)
// expect: error stream-race line=LINE(branch_of_a_condition)
// expect: error stream-race line=LINE(loop_of_a_graph)
// expect: error stream-race line=LINE(graph_that_copies)
// expect: error stream-race line=LINE(memory_of_a_graph)
// expect: error stream-race line=LINE(memory_behind_its_graph)
// run: seen-by-the-host
// device: simulated
// unlike-late: a kernel that has not run yet counts as one that the host has waited for
// expect: error stream-race line=LINE(kernels_in_managed_memory)
// expect: error stream-race line=LINE(kernel_in_mapped_memory)
// expect: error stream-race line=LINE(set_in_mapped_memory)
// run: right
// device: simulated
// env: GPUMEMTRACE_SIM_DEVICES=2
// expect: clean
#include "answers.h"

constexpr std::size_t kBytes = 4096;

static int *a, *b, *h; // memory of the device, pinned memory
static cudaStream_t s, t, u; // none waits for the default stream
__device__ int variable[16];

__global__ void fill(int* values) { values[threadIdx.x] = 1; }
__global__ void add(const int* values, int* sums) { sums[threadIdx.x] += values[threadIdx.x]; }

static cudaEvent_t made_event()
{
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

static void order(cudaStream_t first, cudaStream_t then)
{
  cudaEvent_t event = made_event();
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(then, event, 0));
  CHECK(cudaEventDestroy(event));
}

static void set_and_copy(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @set_and_copy
}

static void two_sets(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(a, 2, kBytes / 2, t)); // @two_sets
}

static void copies_to_one_block(bool ok)
{
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, b, kBytes, cudaMemcpyDeviceToDevice, t)); // @copies_to_one_block
}

static void copies_to_one_host_buffer(bool ok)
{
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, b, kBytes, cudaMemcpyDeviceToHost, t)); // @copies_to_one_host_buffer
}

static void source_is_overwritten(bool ok)
{
  CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, s));
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(a, 2, kBytes, t)); // @source_is_overwritten
}

static void host_source_is_overwritten(bool ok)
{
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, b, kBytes, cudaMemcpyDeviceToHost, t)); // @host_source_is_overwritten
}

static void last_byte(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes / 2, s));
  const std::size_t from = kBytes / 2 - (ok ? 0 : 1);
  CHECK(cudaMemsetAsync(reinterpret_cast<char*>(a) + from, 2, 16, t)); // @last_byte
}

static void rows(bool ok)
{
  CHECK(cudaMemset2DAsync(a, 256, 1, 128, 8, s));
  CHECK(cudaMemset2DAsync(a + (ok ? 32 : 31), 256, 2, 128, 8, t)); // @rows
}

static void event_before_the_work(bool ok)
{
  cudaEvent_t event = made_event();
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @event_before_the_work
  CHECK(cudaEventDestroy(event));
}

static void event_of_another_stream(bool ok)
{
  cudaEvent_t event = made_event();
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  CHECK(cudaEventRecord(event, ok ? s : t));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @event_of_another_stream
  CHECK(cudaEventDestroy(event));
}

static void wait_behind_the_work(bool ok)
{
  cudaEvent_t event = made_event();
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  CHECK(cudaEventRecord(event, s));
  if (ok) CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @wait_behind_the_work
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaEventDestroy(event));
}

static void wait_by_another_stream(bool ok)
{
  cudaEvent_t event = made_event();
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(ok ? t : u, event, 0));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @wait_by_another_stream
  CHECK(cudaEventDestroy(event));
}

static void event_that_is_recorded_again(bool ok)
{
  cudaEvent_t event = made_event();
  if (!ok) CHECK(cudaEventRecord(event, u));
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @event_that_is_recorded_again
  CHECK(cudaEventDestroy(event));
}

static void host_waits_for_another_stream(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  CHECK(cudaStreamSynchronize(ok ? s : u));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @host_waits_for_another_stream
}

static void host_waits_for_an_event(bool ok)
{
  cudaEvent_t event = made_event();
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaEventSynchronize(event));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @host_waits_for_an_event
  CHECK(cudaEventDestroy(event));
}

static void over_a_third_stream(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  order(s, u);
  if (ok) order(u, t);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @over_a_third_stream
}

static void default_stream_and_one_beside(bool ok)
{
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpy(h, a, kBytes, cudaMemcpyDeviceToHost)); // @default_stream_and_one_beside
}

static void set_without_a_stream(bool ok)
{
  CHECK(cudaMemset(a, 1, kBytes));
  if (ok) CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @set_without_a_stream
}

static void copy_on_the_device_without_a_stream(bool ok)
{
  CHECK(cudaMemcpy(a, b, kBytes, cudaMemcpyDeviceToDevice));
  if (ok) CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @copy_on_the_device_without_a_stream
}

static void streams_with_priorities(bool ok)
{
  cudaStream_t high;
  CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -1));
  CHECK(cudaMemsetAsync(a, 1, kBytes, s));
  if (ok) order(s, high);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, high)); // @streams_with_priorities
  CHECK(cudaStreamSynchronize(high));
  CHECK(cudaStreamDestroy(high));
}

static void kernel_and_set(bool ok)
{
  fill<<<1, 1024, 0, s>>>(a);
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(a, 0, kBytes, t)); // @kernel_and_set
}

static void kernel_and_copy(bool ok)
{
  fill<<<1, 1024, 0, s>>>(a);
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @kernel_and_copy
}

static void copy_and_kernel(bool ok)
{
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s));
  if (ok) order(s, t);
  add<<<1, 1024, 0, t>>>(a, b); // @copy_and_kernel
  CHECK(cudaGetLastError());
}

static void kernels(bool ok)
{
  fill<<<1, 1024, 0, s>>>(a);
  if (ok) order(s, t);
  add<<<1, 1024, 0, t>>>(a, b); // @kernels
  CHECK(cudaGetLastError());
}

static void readers_and_a_writer(bool ok)
{
  CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, s));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, u));
  if (ok) order(u, t);
  order(s, t);
  CHECK(cudaMemsetAsync(a, 2, kBytes, t)); // @readers_and_a_writer
}

static void memory_of_a_pool(bool ok)
{
  int* p;
  CHECK(cudaMallocAsync(&p, kBytes, s));
  order(s, t);
  CHECK(cudaMemsetAsync(p, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, p, kBytes, cudaMemcpyDeviceToHost, t)); // @memory_of_a_pool
  order(t, s);
  CHECK(cudaFreeAsync(p, s));
}

static void variable_of_the_device(bool ok)
{
  CHECK(cudaMemcpyToSymbolAsync(variable, h, sizeof variable, 0, cudaMemcpyHostToDevice, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyFromSymbolAsync(h + 16, variable, sizeof variable, 0, cudaMemcpyDeviceToHost, t)); // @variable_of_the_device
}

static void managed_memory(bool ok)
{
  int* m;
  CHECK(cudaMallocManaged(&m, kBytes));
  CHECK(cudaMemsetAsync(m, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, m, kBytes, cudaMemcpyDefault, t)); // @managed_memory
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void kernels_in_managed_memory(bool ok)
{
  int* m;
  CHECK(cudaMallocManaged(&m, kBytes));
  fill<<<1, 64, 0, s>>>(m);
  if (ok) order(s, t);
  add<<<1, 64, 0, t>>>(a, m); // @kernels_in_managed_memory
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void kernel_in_mapped_memory(bool ok)
{
  fill<<<1, 64, 0, s>>>(h);
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, t)); // @kernel_in_mapped_memory
}

static void set_in_mapped_memory(bool ok)
{
  add<<<1, 64, 0, s>>>(h, a);
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(h, 1, kBytes, t)); // @set_in_mapped_memory
}

static void set_of_pinned_memory(bool ok)
{
  CHECK(cudaMemsetAsync(h, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, t)); // @set_of_pinned_memory
}

static void set_of_what_is_copied(bool ok)
{
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, s));
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(h + 100, 1, kBytes / 2, t)); // @set_of_what_is_copied
}

// Every second row of 64 bytes is set, and the rows in between or half of them are copied.
static void rows_of_pinned_memory(bool ok)
{
  CHECK(cudaMemset2DAsync(h, 128, 1, 64, kBytes / 128, s));
  CHECK(cudaMemcpy2DAsync(a, 128, h + (ok ? 16 : 8), 128, 64, kBytes / 128 - 1, cudaMemcpyHostToDevice, t)); // @rows_of_pinned_memory
}

// Several copies by one call, of which the second meets what another stream does.
static void batch_of_copies(bool ok)
{
  CHECK(cudaMemsetAsync(a + 600, 1, 64, s));
  if (ok) order(s, t);
  void* to[] = {b, b + 512};
  const void* from[] = {a, a + 512};
  const std::size_t bytes[] = {1024, 1024};
  cudaMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  CHECK(cudaMemcpyBatchAsync(to, from, bytes, 2, attributes, t)); // @batch_of_copies
}

static void registered_memory(bool ok)
{
  static int registered[kBytes / sizeof(int)];
  CHECK(cudaHostRegister(registered, kBytes, 0));
  CHECK(cudaMemcpyAsync(registered, a, kBytes, cudaMemcpyDeviceToHost, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(b, registered, kBytes, cudaMemcpyHostToDevice, t)); // @registered_memory
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaHostUnregister(registered));
}

static void copy_between_devices(bool ok)
{
  CHECK(cudaMemcpyPeerAsync(b, 0, a, 0, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(b, 1, kBytes, t)); // @copy_between_devices
}

// Without a stream it is in order with all work of both devices. A machine with one GPU passes over it.
static void copy_that_all_wait_for(bool ok)
{
  int *there, devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  if (devices < 2) return;
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&there, kBytes));
  CHECK(cudaSetDevice(0));
  fill<<<1, 1024, 0, s>>>(a);
  if (ok) CHECK(cudaMemcpyPeer(there, 1, a, 0, kBytes));
  else CHECK(cudaMemcpyPeerAsync(there, 1, a, 0, kBytes, t)); // @copy_that_all_wait_for
  if (ok) CHECK(cudaMemsetAsync(a, 1, kBytes, u));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(there));
}

static void peer_copy_within_a_device(bool ok)
{
  fill<<<1, 1024, 0, s>>>(a);
  if (ok) CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpyPeer(b, 0, a, 0, kBytes)); // @peer_copy_within_a_device
}

__global__ void fill_words(int* values, int step) { values[threadIdx.x * step] = 2; }
__global__ void fill_behind(int* const* pointer) { (*pointer)[threadIdx.x] = 3; }
__global__ void count(int* counter) { atomicAdd(counter, 1); }
__global__ void take(const int* counter, int* value) { *value = *counter; }

static void parts_of_one_buffer(bool ok)
{
  fill<<<1, 512, 0, s>>>(a);
  fill<<<1, 512, 0, t>>>(a + (ok ? 512 : 511)); // @parts_of_one_buffer
  CHECK(cudaGetLastError());
}

static void every_other_word(bool ok)
{
  fill_words<<<1, 512, 0, s>>>(a, 2);
  CHECK(cudaMemcpy2DAsync(h, 8, a + (ok ? 1 : 0), 8, 4, 511, cudaMemcpyDeviceToHost, t)); // @every_other_word
}

static void pointer_in_memory(bool ok)
{
  int** at = reinterpret_cast<int**>(b);
  CHECK(cudaMemcpy(at, &a, sizeof a, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  fill_behind<<<1, 1024, 0, s>>>(at);
  if (ok) order(s, t);
  CHECK(cudaMemsetAsync(a, 0, kBytes, t)); // @pointer_in_memory
}

static void gathered_parts(bool ok)
{
  fill<<<1, 256, 0, s>>>(a);
  fill<<<1, 256, 0, u>>>(a + 256);
  order(s, t);
  if (ok) order(u, t);
  add<<<1, 512, 0, t>>>(a, b); // @gathered_parts
  CHECK(cudaGetLastError());
}

static void counter_of_another_kernel(bool ok)
{
  count<<<8, 32, 0, s>>>(a);
  count<<<8, 32, 0, u>>>(a); // atomics do not race with each other
  order(u, t);
  if (ok) order(s, t);
  take<<<1, 1, 0, t>>>(a, b); // @counter_of_another_kernel
  CHECK(cudaGetLastError());
}

static void input_of_two_kernels(bool ok)
{
  add<<<1, 256, 0, s>>>(a, b);
  add<<<1, 256, 0, u>>>(a, b + 256);
  if (ok) order(s, t);
  order(u, t);
  fill<<<1, 256, 0, t>>>(a); // @input_of_two_kernels
  CHECK(cudaGetLastError());
}

// Captured from s and t, where t begins behind the fork. Both are done at the graph's end.
static cudaGraphExec_t captured(void (*on_both)(bool), bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  cudaEvent_t event = made_event();
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  on_both(ok);
  CHECK(cudaEventRecord(event, t));
  CHECK(cudaStreamWaitEvent(s, event, 0));
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaEventDestroy(event));
  return made;
}

static void end(cudaGraphExec_t made)
{
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(made));
}

static void graph_and_copy(bool ok)
{
  cudaGraphExec_t graph = captured([](bool) { fill<<<1, 1024, 0, s>>>(a); }, ok);
  CHECK(cudaGraphLaunch(graph, s));
  if (ok) order(s, u);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, u)); // @graph_and_copy
  end(graph);
}

static void two_graphs(bool ok)
{
  cudaGraphExec_t one = captured([](bool) { fill<<<1, 1024, 0, s>>>(a); }, ok);
  cudaGraphExec_t other = captured([](bool) { add<<<1, 1024, 0, t>>>(a, b); }, ok);
  CHECK(cudaGraphLaunch(one, s));
  if (ok) order(s, t);
  CHECK(cudaGraphLaunch(other, t)); // @two_graphs
  end(one);
  end(other);
}

static void branches_of_a_graph(bool ok)
{
  cudaGraphExec_t graph = captured(
    [](bool is_right) {
      CHECK(cudaMemsetAsync(a, 1, kBytes, s));
      if (is_right) order(s, t);
      add<<<1, 1024, 0, t>>>(a, b);
    },
    ok);
  CHECK(cudaGraphLaunch(graph, u)); // @branches_of_a_graph
  end(graph);
}

static cudaGraphNode_t set_node(cudaGraph_t graph, const cudaGraphNode_t* needed, int* memory)
{
  cudaMemsetParams set = {};
  set.dst = memory;
  set.elementSize = 4;
  set.width = kBytes / 4;
  set.height = 1;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemsetNode(&node, graph, needed, needed != nullptr ? 1 : 0, &set));
  return node;
}

static cudaGraphNode_t copy_node(cudaGraph_t graph, const cudaGraphNode_t* needed, int* to, const int* from)
{
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemcpyNode1D(&node, graph, needed, needed != nullptr ? 1 : 0, to, from, kBytes, cudaMemcpyDeviceToDevice));
  return node;
}

static void nodes_of_a_graph(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t set = set_node(graph, nullptr, a);
  copy_node(graph, ok ? &set : nullptr, b, a);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphLaunch(made, s)); // @nodes_of_a_graph
  CHECK(cudaGraphDestroy(graph));
  end(made);
}

// A graph's node records the event that another stream waits for: behind the node that sets the memory, or before it.
static void event_node(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  cudaGraphNode_t recorded;
  cudaEvent_t event = made_event();
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t set = set_node(graph, nullptr, a);
  if (ok) CHECK(cudaGraphAddEventRecordNode(&recorded, graph, &set, 1, event));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaGraphLaunch(made, s));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, t)); // @event_node
  CHECK(cudaGraphDestroy(graph));
  end(made);
  CHECK(cudaEventDestroy(event));
}

// The graph is made for one block, and changed to use the one that another stream uses.
static void graph_with_other_memory(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t set = set_node(graph, nullptr, b);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  cudaMemsetParams changed = {};
  changed.dst = a;
  changed.elementSize = 4;
  changed.width = kBytes / 4;
  changed.height = 1;
  if (!ok) CHECK(cudaGraphExecMemsetNodeSetParams(made, set, &changed));
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t));
  CHECK(cudaGraphLaunch(made, s)); // @graph_with_other_memory
  CHECK(cudaGraphDestroy(graph));
  end(made);
}

static void child_graph(bool ok)
{
  cudaGraph_t graph, child;
  cudaGraphExec_t made;
  cudaGraphNode_t node;
  CHECK(cudaGraphCreate(&child, 0));
  const cudaGraphNode_t set = set_node(child, nullptr, a);
  copy_node(child, &set, b, a);
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  set_node(graph, ok ? &node : nullptr, b);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphLaunch(made, s)); // @child_graph
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(child));
  end(made);
}

__global__ void count_turns(int* values, int turns, cudaGraphConditionalHandle goes_on)
{
  values[threadIdx.x]++;
  if (values[threadIdx.x] == turns) cudaGraphSetConditional(goes_on, 0);
}

// A conditional node whose body has one kernel, and a node beside or behind it that uses the same memory.
static cudaGraphExec_t with_condition(bool ok, cudaGraphConditionalNodeType type, int turns)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams conditional = {};
  conditional.type = cudaGraphNodeTypeConditional;
  conditional.conditional.type = type;
  conditional.conditional.size = 1;
  CHECK(cudaGraphConditionalHandleCreate(&conditional.conditional.handle, graph, 1, cudaGraphCondAssignDefault));
  const cudaGraphNode_t set = set_node(graph, nullptr, a);
  cudaGraphNode_t node, kernel;
  CHECK(cudaGraphAddNode(&node, graph, &set, nullptr, 1, &conditional));
  void* arguments[] = {&a, &turns, &conditional.conditional.handle};
  cudaKernelNodeParams counting = {};
  counting.func = reinterpret_cast<void*>(count_turns);
  counting.gridDim = dim3(1);
  counting.blockDim = dim3(1);
  counting.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, conditional.conditional.phGraph_out[0], nullptr, 0, &counting));
  copy_node(graph, ok ? &node : &set, b, a);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return made;
}

static void branch_of_a_condition(bool ok)
{
  cudaGraphExec_t graph = with_condition(ok, cudaGraphCondTypeIf, 1);
  CHECK(cudaGraphLaunch(graph, s)); // @branch_of_a_condition
  end(graph);
}

// It has more turns than a graph's launch has nodes whose order is known.
static void loop_of_a_graph(bool ok)
{
  cudaGraphExec_t graph = with_condition(ok, cudaGraphCondTypeWhile, 100);
  CHECK(cudaGraphLaunch(graph, s)); // @loop_of_a_graph
  end(graph);
}

static void graph_that_copies(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaGraphCreate(&graph, 0));
  copy_node(graph, nullptr, b, a);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  fill<<<1, 1024, 0, t>>>(a);
  if (ok) order(t, s);
  CHECK(cudaGraphLaunch(made, s)); // @graph_that_copies
  end(made);
}

// A node allocates what the others use.
static cudaGraphNode_t memory_node(cudaGraph_t graph, int** memory)
{
  cudaMemAllocNodeParams parameters = {};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location.type = cudaMemLocationTypeDevice;
  parameters.bytesize = kBytes;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
  *memory = static_cast<int*>(parameters.dptr);
  return node;
}

static void memory_of_a_graph(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  cudaGraphNode_t end_node;
  int* memory;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t first = memory_node(graph, &memory);
  const cudaGraphNode_t set = set_node(graph, &first, memory);
  const cudaGraphNode_t users[] = {set, copy_node(graph, ok ? &set : &first, b, memory)};
  CHECK(cudaGraphAddMemFreeNode(&end_node, graph, users, 2, memory));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphLaunch(made, s)); // @memory_of_a_graph
  CHECK(cudaGraphDestroy(graph));
  end(made);
}

static void memory_behind_its_graph(bool ok)
{
  cudaGraph_t graph;
  cudaGraphExec_t made;
  int* memory;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t first = memory_node(graph, &memory);
  set_node(graph, &first, memory);
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphLaunch(made, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(h, memory, kBytes, cudaMemcpyDeviceToHost, t)); // @memory_behind_its_graph
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
  CHECK(cudaGraphDestroy(graph));
  end(made);
}

// On fresh memory.
static void run(void (*program)(bool), bool ok)
{
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMallocHost(&h, kBytes));
  CHECK(cudaMemset(a, 0, kBytes));
  CHECK(cudaMemset(b, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  program(ok);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeHost(h));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
}

int main(int argc, char** argv)
{
  const bool ok = started_with(argc, argv, "right");
  for (cudaStream_t* stream : {&s, &t, &u}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  if (ok || started_with(argc, argv, "seen-by-the-host")) {
    run(kernels_in_managed_memory, ok);
    run(kernel_in_mapped_memory, ok);
    run(set_in_mapped_memory, ok);
    if (!ok) return 0;
  }
  run(set_and_copy, ok);
  run(two_sets, ok);
  run(copies_to_one_block, ok);
  run(copies_to_one_host_buffer, ok);
  run(source_is_overwritten, ok);
  run(host_source_is_overwritten, ok);
  run(last_byte, ok);
  run(rows, ok);
  run(event_before_the_work, ok);
  run(event_of_another_stream, ok);
  run(wait_behind_the_work, ok);
  run(wait_by_another_stream, ok);
  run(event_that_is_recorded_again, ok);
  run(host_waits_for_another_stream, ok);
  run(host_waits_for_an_event, ok);
  run(over_a_third_stream, ok);
  run(default_stream_and_one_beside, ok);
  run(set_without_a_stream, ok);
  run(copy_on_the_device_without_a_stream, ok);
  run(streams_with_priorities, ok);
  run(kernel_and_set, ok);
  run(kernel_and_copy, ok);
  run(copy_and_kernel, ok);
  run(kernels, ok);
  run(readers_and_a_writer, ok);
  run(memory_of_a_pool, ok);
  run(variable_of_the_device, ok);
  run(managed_memory, ok);
  run(registered_memory, ok);
  run(copy_between_devices, ok);
  run(copy_that_all_wait_for, ok);
  run(peer_copy_within_a_device, ok);
  run(parts_of_one_buffer, ok);
  run(every_other_word, ok);
  run(pointer_in_memory, ok);
  run(gathered_parts, ok);
  run(counter_of_another_kernel, ok);
  run(input_of_two_kernels, ok);
  run(set_of_pinned_memory, ok);
  run(set_of_what_is_copied, ok);
  run(rows_of_pinned_memory, ok);
  run(batch_of_copies, ok);
  run(event_node, ok);
  run(graph_with_other_memory, ok);
  run(graph_and_copy, ok);
  run(two_graphs, ok);
  run(branches_of_a_graph, ok);
  run(nodes_of_a_graph, ok);
  run(child_graph, ok);
  run(branch_of_a_condition, ok);
  run(loop_of_a_graph, ok);
  run(graph_that_copies, ok);
  run(memory_of_a_graph, ok);
  run(memory_behind_its_graph, ok);
  for (cudaStream_t stream : {s, t, u}) CHECK(cudaStreamDestroy(stream));
}
