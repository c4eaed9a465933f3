// SPDX-License-Identifier: Apache-2.0
// Kinds of programs whose host changes what asynchronous work has yet to read or write, each with its right twin.
// Work runs late here. It is one file because it is one list: a function of each kind, its twin, and the finding that it must have.
//
// run: racy
// device: simulated
// options: --late 10s
// expect: error host-race line=LINE(filled_again)
// expect: error host-race line=LINE(set_to_zero)
// expect: error host-race line=LINE(last_byte)
// expect: error host-race line=LINE(byte_beside_the_source)
// expect: error host-race line=LINE(other_half)
// expect: error host-race line=LINE(wait_for_another_stream)
// expect: error host-race line=LINE(event_before_the_copy)
// expect: error host-race line=LINE(event_of_another_stream)
// expect: error host-race line=LINE(event_that_is_not_waited_for)
// expect: error host-race line=LINE(device_waits_and_not_the_host)
// expect: error host-race line=LINE(two_buffers_three_copies)
// expect: error host-race line=LINE(wait_for_the_newer_of_two)
// expect: error host-race line=LINE(loop_over_one_buffer)
// expect: error host-race line=LINE(buffer_of_a_pool)
// expect: error host-race line=LINE(behind_a_kernel)
// expect: error host-race line=LINE(before_a_kernel)
// expect: error host-race line=LINE(thread_that_fills)
// expect: error host-race line=LINE(rows)
// expect: error host-race line=LINE(registered_memory)
// expect: error host-race line=LINE(managed_memory)
// expect: error host-race line=LINE(portable_memory)
// expect: error host-race line=LINE(default_stream)
// expect: error host-race line=LINE(between_pinned_blocks)
// expect: error host-race line=LINE(to_a_variable)
// expect: error host-race line=LINE(counter_in_the_message)
// expect: error host-race line=LINE(swapped_too_early)
// expect: error host-race line=LINE(result_comes_where_the_source_was)
// expect: error host-race line=LINE(query_once)
// expect: error host-race line=LINE(structure_of_parameters)
// expect: error host-race line=LINE(high_priority)
// expect: error host-race line=LINE(written_where_a_result_comes) message="had been called to copy to there"
// expect: error host-race line=LINE(cleared_behind_the_call) message="had been called to copy to there"
// expect: error host-race line=LINE(set_and_then_written) message="had been called to set them"
// expect: error host-race line=LINE(rows_that_are_set) message="had been called to set them"
// expect: error host-race line=LINE(words_that_are_set) message="had been called to set them"
// expect: error host-race line=LINE(input_of_a_kernel) message="had launched a kernel that uses them"
// expect: error host-race line=LINE(output_of_a_kernel) message="had launched a kernel that uses them"
// expect: error host-race line=LINE(half_of_the_managed_memory) message="had launched a kernel that uses them"
// expect: error host-race line=LINE(managed_variable) message="had launched a kernel that uses them"
// run: right
// device: simulated
// options: --late 10s
// expect: clean
#include "driver_function.h"

#include <cstring>
#include <thread>
#include <utility>

constexpr int kCount = 1024;
constexpr std::size_t kBytes = kCount * sizeof(int);

static int *a, *b;           // memory of the device
static int *h, *k;           // pinned memory
static cudaStream_t s, t;    // none waits for the default stream
__device__ int variable[16];

__global__ void add(const int* values, int* sums) { sums[threadIdx.x] += values[threadIdx.x]; }
__global__ void slow(int* value)
{
  for (int i = 0; i < 1000; ++i) *value += i & 1;
}

__managed__ int seen_by_both;
__global__ void add_to_variable(int* sum) { *sum += seen_by_both; }

static cudaEvent_t made_event()
{
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

static void wait(cudaStream_t stream) { CHECK(cudaStreamSynchronize(stream)); }

static void fill(int* values, int value)
{
  for (int i = 0; i < kCount; ++i) values[i] = value + i;
}

static int* taken_from_pool(int number) { return number == 0 ? h : k; }

static void filled_again(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @filled_again
  if (ok) wait(s);
  fill(h, 2);
}

static void set_to_zero(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @set_to_zero
  if (ok) wait(s);
  std::memset(h, 0, kBytes);
}

static void last_byte(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @last_byte
  if (ok) wait(s);
  reinterpret_cast<char*>(h)[kBytes - 1] = 9;
}

static void byte_beside_the_source(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes - 4, cudaMemcpyHostToDevice, s)); // @byte_beside_the_source
  h[kCount - (ok ? 1 : 2)] = 9;
}

static void other_half(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes / 2, cudaMemcpyHostToDevice, s)); // @other_half
  std::memset(h + (ok ? kCount / 2 : 0), 5, kBytes / 2);
}

static void wait_for_another_stream(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @wait_for_another_stream
  wait(ok ? s : t);
  fill(h, 2);
}

static void event_before_the_copy(bool ok)
{
  cudaEvent_t event = made_event();
  fill(h, 1);
  if (!ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @event_before_the_copy
  if (ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaEventSynchronize(event));
  fill(h, 2);
  CHECK(cudaEventDestroy(event));
}

static void event_of_another_stream(bool ok)
{
  cudaEvent_t event = made_event();
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @event_of_another_stream
  CHECK(cudaEventRecord(event, ok ? s : t));
  CHECK(cudaEventSynchronize(event));
  fill(h, 2);
  CHECK(cudaEventDestroy(event));
}

static void event_that_is_not_waited_for(bool ok)
{
  cudaEvent_t event = made_event();
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @event_that_is_not_waited_for
  CHECK(cudaEventRecord(event, s));
  if (ok) CHECK(cudaEventSynchronize(event));
  fill(h, 2);
  CHECK(cudaEventDestroy(event));
}

static void device_waits_and_not_the_host(bool ok)
{
  cudaEvent_t event = made_event();
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @device_waits_and_not_the_host
  CHECK(cudaEventRecord(event, s));
  CHECK(cudaStreamWaitEvent(t, event, 0));
  if (ok) wait(t);
  fill(h, 2);
  CHECK(cudaEventDestroy(event));
}

static void two_buffers_three_copies(bool ok)
{
  int* const buffers[] = {h, k};
  for (int i = 0; i < 3; ++i) {
    if (ok && i == 2) wait(s);
    fill(buffers[i % 2], i + 1);
    CHECK(cudaMemcpyAsync(i == 1 ? b : a, buffers[i % 2], kBytes, cudaMemcpyHostToDevice, s)); // @two_buffers_three_copies
  }
}

static void wait_for_the_newer_of_two(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, t)); // @wait_for_the_newer_of_two
  CHECK(cudaMemcpyAsync(b, k, kBytes, cudaMemcpyHostToDevice, s));
  wait(s);
  if (ok) wait(t);
  fill(h, 2);
}

static void loop_over_one_buffer(bool ok)
{
  for (int i = 0; i < 4; ++i) {
    fill(h, i + 1);
    CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @loop_over_one_buffer
    if (ok) wait(s);
  }
}

static void buffer_of_a_pool(bool ok)
{
  for (int i = 0; i < 2; ++i) {
    int* const buffer = taken_from_pool(ok ? i : 0);
    fill(buffer, i + 1);
    CHECK(cudaMemcpyAsync(i == 0 ? a : b, buffer, kBytes, cudaMemcpyHostToDevice, s)); // @buffer_of_a_pool
  }
}

static void behind_a_kernel(bool ok)
{
  fill(h, 1);
  slow<<<1, 1, 0, s>>>(b);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @behind_a_kernel
  if (ok) wait(s);
  fill(h, 2);
}

static void before_a_kernel(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @before_a_kernel
  add<<<1, kCount, 0, s>>>(a, b);
  CHECK(cudaGetLastError());
  if (ok) wait(s);
  fill(h, 2);
}

static void thread_that_fills(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @thread_that_fills
  if (ok) wait(s);
  std::thread([] { fill(h, 2); }).join();
}

static void rows(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpy2DAsync(a, 64, h, 128, 64, 16, cudaMemcpyHostToDevice, s)); // @rows
  h[(ok ? 16 : 32)] = 9; // between rows, or at the second one
}

static void registered_memory(bool ok)
{
  static int registered[kCount];
  CHECK(cudaHostRegister(registered, kBytes, 0));
  fill(registered, 1);
  CHECK(cudaMemcpyAsync(a, registered, kBytes, cudaMemcpyHostToDevice, s)); // @registered_memory
  if (ok) wait(s);
  fill(registered, 2);
  wait(s);
  CHECK(cudaHostUnregister(registered));
}

static void managed_memory(bool ok)
{
  int* m;
  CHECK(cudaMallocManaged(&m, kBytes));
  fill(m, 1);
  CHECK(cudaMemcpyAsync(a, m, kBytes, cudaMemcpyDefault, s)); // @managed_memory
  if (ok) wait(s);
  fill(m, 2);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void portable_memory(bool ok)
{
  int* p;
  CHECK(cudaHostAlloc(&p, kBytes, cudaHostAllocPortable));
  fill(p, 1);
  CHECK(cudaMemcpyAsync(a, p, kBytes, cudaMemcpyHostToDevice, s)); // @portable_memory
  if (ok) wait(s);
  fill(p, 2);
  wait(s);
  CHECK(cudaFreeHost(p));
}

static void default_stream(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, nullptr)); // @default_stream
  if (ok) CHECK(cudaStreamSynchronize(nullptr));
  fill(h, 2);
}

static void between_pinned_blocks(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(k, h, kBytes, cudaMemcpyHostToHost, s)); // @between_pinned_blocks
  if (ok) wait(s);
  fill(h, 2);
}

static void to_a_variable(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyToSymbolAsync(variable, h, sizeof variable, 0, cudaMemcpyHostToDevice, s)); // @to_a_variable
  if (ok) wait(s);
  h[3] = 7;
}

static void counter_in_the_message(bool ok)
{
  for (int i = 0; i < 3; ++i) {
    h[0] = i + 1;
    CHECK(cudaMemcpyAsync(a + i, h, sizeof(int), cudaMemcpyHostToDevice, s)); // @counter_in_the_message
    if (ok) wait(s);
  }
}

static void swapped_too_early(bool ok)
{
  fill(h, 1);
  fill(k, 2);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @swapped_too_early
  CHECK(cudaMemcpyAsync(b, k, kBytes, cudaMemcpyHostToDevice, t));
  wait(ok ? s : t);
  std::swap(h[0], h[1]);
  h[0] = 5;
}

static void result_comes_where_the_source_was(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @result_comes_where_the_source_was
  if (ok) wait(s);
  std::memcpy(h, k + 1, kBytes - 4);
}

static void query_once(bool ok)
{
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s)); // @query_once
  if (ok) while (cudaStreamQuery(s) == cudaErrorNotReady) {}
  else (void)cudaStreamQuery(t);
  fill(h, 2);
}

static void structure_of_parameters(bool ok)
{
  struct Parameters { int count; float scale; }* const parameters = reinterpret_cast<Parameters*>(h);
  for (int i = 0; i < 2; ++i) {
    parameters->count = 10 + i;
    parameters->scale = 0.5f * static_cast<float>(i);
    CHECK(cudaMemcpyAsync(a + 4 * i, parameters, sizeof *parameters, cudaMemcpyHostToDevice, s)); // @structure_of_parameters
    if (ok) wait(s);
  }
}

static void high_priority(bool ok)
{
  cudaStream_t high;
  CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -1));
  fill(h, 1);
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, high)); // @high_priority
  if (ok) wait(high);
  fill(h, 2);
  wait(high);
  CHECK(cudaStreamDestroy(high));
}

static void written_where_a_result_comes(bool ok)
{
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, s)); // @written_where_a_result_comes
  if (ok) wait(s);
  h[5] = 5;
}

static void cleared_behind_the_call(bool ok)
{
  fill(h, 1);
  if (ok) std::memset(h, 0, kBytes);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, s)); // @cleared_behind_the_call
  if (!ok) std::memset(h, 0, kBytes);
}

static void set_and_then_written(bool ok)
{
  CHECK(cudaMemsetAsync(h, 0xff, kBytes, s)); // @set_and_then_written
  if (ok) wait(s);
  h[5] = 5;
}

static void rows_that_are_set(bool ok)
{
  CHECK(cudaMemset2DAsync(h, 128, 1, 32, 16, s)); // @rows_that_are_set
  h[ok ? 8 : 32] = 5; // behind the first row, or in the second one
}

static void words_that_are_set(bool ok)
{
  CHECK(cudaMemsetAsync(h + 16, 1, kBytes / 2, s)); // @words_that_are_set
  h[ok ? 15 : 16] = 5;
}

// Managed memory may be used by the host while a kernel runs, but not the same bytes.
static int* managed()
{
  int* m = nullptr;
  CHECK(cudaMallocManaged(&m, kBytes));
  std::memset(m, 0, kBytes);
  CHECK(cudaDeviceSynchronize());
  return m;
}

static void input_of_a_kernel(bool ok)
{
  int* m = managed();
  add<<<1, 64, 0, s>>>(m, a); // @input_of_a_kernel
  if (ok) wait(s);
  m[63] = 2;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void output_of_a_kernel(bool ok)
{
  int* m = managed();
  add<<<1, 64, 0, s>>>(a, m); // @output_of_a_kernel
  if (ok) wait(s);
  std::memset(m, 1, 8);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void half_of_the_managed_memory(bool ok)
{
  int* m = managed();
  add<<<1, 64, 0, s>>>(m, m + 128); // @half_of_the_managed_memory
  m[ok ? 64 : 128] = 3;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void managed_variable(bool ok)
{
  add_to_variable<<<1, 1, 0, s>>>(a); // @managed_variable
  if (ok) wait(s);
  seen_by_both = 4;
}

// Right both times: the stream waits for the host, which writes before it lets the stream go on.
static void behind_a_wait_for_a_value(bool)
{
  using Wait = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  Wait* const wait_for = driver_function<Wait>("cuStreamWaitValue32", 12000);
  int* m = managed();
  CHECK(wait_for(s, reinterpret_cast<CUdeviceptr>(k), 1, CU_STREAM_WAIT_VALUE_GEQ));
  CHECK(cudaMemcpyAsync(a, h, kBytes, cudaMemcpyHostToDevice, s));
  add<<<1, 64, 0, s>>>(m, a);
  h[5] = m[5] = 5;
  __atomic_store_n(k, 1, __ATOMIC_RELEASE);
  wait(s);
  CHECK(cudaFree(m));
}

// On fresh memory.
static void run(void (*program)(bool), bool ok)
{
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMallocHost(&h, kBytes));
  CHECK(cudaMallocHost(&k, kBytes));
  std::memset(h, 0, kBytes);
  std::memset(k, 0, kBytes);
  CHECK(cudaMemset(a, 0, kBytes));
  CHECK(cudaMemset(b, 0, kBytes));
  CHECK(cudaDeviceSynchronize());
  program(ok);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeHost(k));
  CHECK(cudaFreeHost(h));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
}

int main(int argc, char** argv)
{
  const bool ok = started_with(argc, argv, "right");
  for (cudaStream_t* stream : {&s, &t}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  run(filled_again, ok);
  run(set_to_zero, ok);
  run(last_byte, ok);
  run(byte_beside_the_source, ok);
  run(other_half, ok);
  run(wait_for_another_stream, ok);
  run(event_before_the_copy, ok);
  run(event_of_another_stream, ok);
  run(event_that_is_not_waited_for, ok);
  run(device_waits_and_not_the_host, ok);
  run(two_buffers_three_copies, ok);
  run(wait_for_the_newer_of_two, ok);
  run(loop_over_one_buffer, ok);
  run(buffer_of_a_pool, ok);
  run(behind_a_kernel, ok);
  run(before_a_kernel, ok);
  run(thread_that_fills, ok);
  run(rows, ok);
  run(registered_memory, ok);
  run(managed_memory, ok);
  run(portable_memory, ok);
  run(default_stream, ok);
  run(between_pinned_blocks, ok);
  run(to_a_variable, ok);
  run(counter_in_the_message, ok);
  run(swapped_too_early, ok);
  run(result_comes_where_the_source_was, ok);
  run(query_once, ok);
  run(structure_of_parameters, ok);
  run(high_priority, ok);
  run(written_where_a_result_comes, ok);
  run(cleared_behind_the_call, ok);
  run(behind_a_wait_for_a_value, ok);
  run(set_and_then_written, ok);
  run(rows_that_are_set, ok);
  run(words_that_are_set, ok);
  run(input_of_a_kernel, ok);
  run(output_of_a_kernel, ok);
  run(half_of_the_managed_memory, ok);
  run(managed_variable, ok);
  for (cudaStream_t stream : {s, t}) CHECK(cudaStreamDestroy(stream));
}
