// SPDX-License-Identifier: Apache-2.0
// Kinds of work on two streams that races, each with its right twin, in which something orders the two.
// It is one file because it is one list: a function of each kind, its twin, and the finding that it must have.
//
// run: racy
// device: simulated
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
// expect: warning stream-race line=LINE(kernels)
// expect: error stream-race line=LINE(readers_and_a_writer)
// expect: error stream-race line=LINE(memory_of_a_pool)
// expect: error stream-race line=LINE(variable_of_the_device)
// expect: error stream-race line=LINE(managed_memory)
// expect: error stream-race line=LINE(registered_memory)
// expect: error stream-race line=LINE(copy_between_devices)
// run: right
// device: simulated
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
  if (!ok) CHECK(cudaEventRecord(event, s));
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
  if (!ok) CHECK(cudaEventRecord(event, s));
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
  for (cudaStream_t stream : {s, t, u}) CHECK(cudaStreamDestroy(stream));
}
