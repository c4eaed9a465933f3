// SPDX-License-Identifier: Apache-2.0
// What orders the work of streams and what only seems to: the host's threads and functions, events, Thrust's policies,
// graphs, values in memory, streams that have ended. Each race has its right twin. It is one file because it is one list, as
// stream_kinds.cu is.
//
// run: racy
// device: simulated
// expect: error stream-race line=LINE(events_of_a_pipeline)
// expect: error stream-race line=LINE(staging_slot)
// expect: error stream-race line=LINE(event_never_recorded)
// expect: error stream-race line=LINE(host_function_signals)
// expect: error stream-race line=LINE(threads_of_the_host)
// expect: error stream-race line=LINE(queried)
// expect: error stream-race line=LINE(host_to_host)
// expect: error stream-race line=LINE(slices)
// expect: error stream-race line=LINE(array_of_two) message="of CUDA array memory"
// expect: error stream-race line=LINE(rows_of_an_array) message="of CUDA array memory"
// expect: error stream-race line=LINE(stream_destroyed)
// expect: error stream-race line=LINE(thrust_on_two_streams)
// expect: error stream-race line=LINE(thrust_that_waits)
// expect: error stream-race line=LINE(prefetched)
// expect: error stream-order line=LINE(freed_on_another)
// expect: error stream-race line=LINE(stream_of_the_thread)
// expect: error stream-race line=LINE(graph_on_two_streams)
// expect: error stream-race line=LINE(value_of_a_stream)
// expect: error stream-race line=LINE(default_stream_between)
// expect: error stream-race line=LINE(forked_and_not_joined)
// expect: error stream-race line=LINE(waited_before_the_record)
// expect: error stream-race line=LINE(chain_in_the_wrong_order)
// run: right
// device: simulated
// expect: clean
#include "driver_function.h"

#include <future>
#include <thread>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/transform.h>

constexpr std::size_t kBytes = 4096;

static int *a, *b, *h; // memory of the device, pinned memory
static cudaStream_t s, t, u; // none waits for the default stream

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

// The other stream waits for the event of this turn, or of the last one.
static void events_of_a_pipeline(bool ok)
{
  cudaEvent_t e[3];
  for (auto& x : e) x = made_event();
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaMemcpyAsync(a + i * 128, h + i * 128, 512, cudaMemcpyHostToDevice, s));
    CHECK(cudaEventRecord(e[i], s));
    CHECK(cudaStreamWaitEvent(t, e[ok || i == 0 ? i : i - 1], 0));
    add<<<1, 128, 0, t>>>(a + i * 128, b); // @events_of_a_pipeline
  }
  for (auto x : e) CHECK(cudaEventDestroy(x));
}

// A buffer of the host that is filled and sent on.
static void staging_slot(bool ok)
{
  CHECK(cudaMemcpyAsync(h, a, 512, cudaMemcpyDeviceToHost, s));
  if (ok) CHECK(cudaStreamSynchronize(s));
  CHECK(cudaMemcpyAsync(b, h, 512, cudaMemcpyHostToDevice, t)); // @staging_slot
}

// An event that was never recorded holds up nothing.
static void event_never_recorded(bool ok)
{
  cudaEvent_t e = made_event();
  fill<<<1, 64, 0, s>>>(a);
  if (ok) CHECK(cudaEventRecord(e, s));
  CHECK(cudaStreamWaitEvent(t, e, 0));
  add<<<1, 64, 0, t>>>(a, b); // @event_never_recorded
  CHECK(cudaEventDestroy(e));
}

// A function of the host tells the host, which begins the rest.
static void CUDART_CB signal_host(void* p) { static_cast<std::promise<void>*>(p)->set_value(); }
static void host_function_signals(bool ok)
{
  std::promise<void> done;
  fill<<<1, 64, 0, s>>>(a);
  if (!ok) CHECK(cudaLaunchHostFunc(u, signal_host, &done));
  else CHECK(cudaLaunchHostFunc(s, signal_host, &done));
  done.get_future().wait();
  add<<<1, 64, 0, t>>>(a, b); // @host_function_signals
  CHECK(cudaDeviceSynchronize());
}

// One thread of the host tells another one that its stream is done, or has been given its work.
static void threads_of_the_host(bool ok)
{
  std::promise<void> done;
  std::thread one([&] {
    fill<<<1, 64, 0, s>>>(a);
    if (ok) CHECK(cudaStreamSynchronize(s));
    done.set_value();
  });
  std::thread other([&] {
    done.get_future().wait();
    add<<<1, 64, 0, t>>>(a, b); // @threads_of_the_host
    CHECK(cudaGetLastError());
  });
  one.join();
  other.join();
}

static void queried(bool ok)
{
  cudaEvent_t e = made_event();
  fill<<<1, 64, 0, s>>>(a);
  CHECK(cudaEventRecord(e, ok ? s : u));
  while (cudaEventQuery(e) == cudaErrorNotReady) {}
  add<<<1, 64, 0, t>>>(a, b); // @queried
  CHECK(cudaEventDestroy(e));
}

static void host_to_host(bool ok)
{
  CHECK(cudaMemcpyAsync(h, h + 512, 512, cudaMemcpyHostToHost, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, h, 512, cudaMemcpyHostToDevice, t)); // @host_to_host
}

// Two slices are copied, and the next one or a row of theirs is set.
static void slices(bool ok)
{
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(a, 64, 64, 4);
  p.dstPtr = make_cudaPitchedPtr(h, 64, 64, 4);
  p.extent = make_cudaExtent(64, 4, 2);
  p.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3DAsync(&p, s));
  cudaPitchedPtr at = make_cudaPitchedPtr(a + (ok ? 128 : 112), 64, 64, 4);
  CHECK(cudaMemset3DAsync(at, 1, make_cudaExtent(64, 4, 1), t)); // @slices
}

static cudaArray_t made_array()
{
  cudaArray_t array;
  const cudaChannelFormatDesc words = cudaCreateChannelDesc<int>();
  CHECK(cudaMallocArray(&array, &words, 16, 16));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, h, 64, 64, 16, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  return array;
}

static void array_of_two(bool ok)
{
  cudaArray_t array = made_array();
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, h, 64, 64, 16, cudaMemcpyHostToDevice, s));
  if (ok) order(s, t);
  CHECK(cudaMemcpy2DFromArrayAsync(h + 512, 64, array, 0, 0, 64, 16, cudaMemcpyDeviceToHost, t)); // @array_of_two
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeArray(array));
}

// The left half of four rows, and the right half of all; or a column more.
static void rows_of_an_array(bool ok)
{
  cudaArray_t array = made_array();
  CHECK(cudaMemcpy2DToArrayAsync(array, 0, 3, h, 64, 32, 4, cudaMemcpyHostToDevice, s));
  CHECK(cudaMemcpy2DToArrayAsync(array, ok ? 32 : 28, 0, h, 64, 32, 16, cudaMemcpyHostToDevice, t)); // @rows_of_an_array
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeArray(array));
}

// To destroy a stream waits for nothing.
static void stream_destroyed(bool ok)
{
  cudaStream_t v;
  CHECK(cudaStreamCreateWithFlags(&v, cudaStreamNonBlocking));
  fill<<<1, 64, 0, v>>>(a);
  if (ok) CHECK(cudaStreamSynchronize(v));
  CHECK(cudaStreamDestroy(v));
  add<<<1, 64, 0, t>>>(a, b); // @stream_destroyed
  CHECK(cudaGetLastError());
}

static void thrust_on_two_streams(bool ok)
{
  auto p = thrust::device_pointer_cast(a);
  thrust::fill(thrust::cuda::par_nosync.on(s), p, p + 1024, 3);
  if (ok) order(s, t);
  thrust::transform(thrust::cuda::par_nosync.on(t), p, p + 1024, thrust::device_pointer_cast(b), thrust::negate<int>()); // @thrust_on_two_streams
}

// Thrust waits for its stream, but by par_nosync.
static void thrust_that_waits(bool ok)
{
  auto p = thrust::device_pointer_cast(a);
  if (ok) thrust::fill(thrust::cuda::par.on(s), p, p + 1024, 3);
  else thrust::fill(thrust::cuda::par_nosync.on(s), p, p + 1024, 3);
  CHECK(cudaMemcpyAsync(h, a, kBytes, cudaMemcpyDeviceToHost, t)); // @thrust_that_waits
}

// A prefetch orders nothing by itself.
static void prefetched(bool ok)
{
  int* m;
  CHECK(cudaMallocManaged(&m, kBytes));
  cudaMemLocation where = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemsetAsync(m, 1, kBytes, s));
  CHECK(cudaMemPrefetchAsync(m, kBytes, where, 0, ok ? s : t));
  if (ok) order(s, t);
  CHECK(cudaMemcpyAsync(a, m, kBytes, cudaMemcpyDefault, t)); // @prefetched
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(m));
}

static void freed_on_another(bool ok)
{
  int* p;
  CHECK(cudaMallocAsync(&p, kBytes, s));
  CHECK(cudaMemsetAsync(p, 1, kBytes, s));
  if (ok) order(s, t);
  CHECK(cudaFreeAsync(p, t)); // @freed_on_another
}

static void stream_of_the_thread(bool ok)
{
  fill<<<1, 64, 0, cudaStreamPerThread>>>(a);
  if (ok) order(cudaStreamPerThread, t);
  add<<<1, 64, 0, t>>>(a, b); // @stream_of_the_thread
  CHECK(cudaGetLastError());
}

// Launches of one executable graph run one after the other.
static void graph_on_two_streams(bool ok)
{
  cudaGraph_t g;
  cudaGraphExec_t e, f;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  add<<<1, 64, 0, s>>>(b, a);
  CHECK(cudaStreamEndCapture(s, &g));
  CHECK(cudaGraphInstantiate(&e, g, 0));
  CHECK(cudaGraphInstantiate(&f, g, 0));
  CHECK(cudaGraphLaunch(e, s));
  CHECK(cudaGraphLaunch(ok ? e : f, t)); // @graph_on_two_streams
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(e));
  CHECK(cudaGraphExecDestroy(f));
  CHECK(cudaGraphDestroy(g));
}

// A stream writes a value that another one waits for.
static void value_of_a_stream(bool ok)
{
  CHECK(cudaMemset(b, 0, 4));
  CHECK(cudaDeviceSynchronize());
  fill<<<1, 64, 0, s>>>(a);
  using Value = CUresult(CUstream, CUdeviceptr, cuuint32_t, unsigned);
  const auto value = reinterpret_cast<CUdeviceptr>(b);
  if (ok) {
    CHECK(driver_function<Value>("cuStreamWriteValue32", 12000)(s, value, 1, 0));
    CHECK(driver_function<Value>("cuStreamWaitValue32", 12000)(t, value, 1, CU_STREAM_WAIT_VALUE_GEQ));
  }
  add<<<1, 64, 0, t>>>(a, b + 64); // @value_of_a_stream
  CHECK(cudaGetLastError());
}

// Work of the default stream stands between those of two streams that wait for it.
static void default_stream_between(bool ok)
{
  cudaStream_t x, y;
  CHECK(cudaStreamCreate(&x));
  CHECK(cudaStreamCreate(&y));
  fill<<<1, 64, 0, x>>>(a);
  if (ok) fill<<<1, 64>>>(b);
  add<<<1, 64, 0, y>>>(a, b); // @default_stream_between
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaStreamDestroy(x));
  CHECK(cudaStreamDestroy(y));
}

static void forked_and_not_joined(bool ok)
{
  cudaGraph_t g;
  cudaGraphExec_t e;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  fill<<<1, 64, 0, s>>>(b);
  order(s, t);
  fill<<<1, 64, 0, t>>>(a);
  order(s, u);
  if (ok) order(t, u);
  add<<<1, 64, 0, u>>>(a, b + 64);
  order(t, s);
  order(u, s);
  CHECK(cudaStreamEndCapture(s, &g));
  CHECK(cudaGraphInstantiate(&e, g, 0));
  CHECK(cudaGraphLaunch(e, s)); // @forked_and_not_joined
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(e));
  CHECK(cudaGraphDestroy(g));
}

// To wait is to wait for the record before.
static void waited_before_the_record(bool ok)
{
  cudaEvent_t e = made_event();
  CHECK(cudaEventRecord(e, u));
  fill<<<1, 64, 0, s>>>(a);
  if (ok) { CHECK(cudaEventRecord(e, s));
  CHECK(cudaStreamWaitEvent(t, e, 0)); }
  else { CHECK(cudaStreamWaitEvent(t, e, 0));
  CHECK(cudaEventRecord(e, s)); }
  add<<<1, 64, 0, t>>>(a, b); // @waited_before_the_record
  CHECK(cudaEventDestroy(e));
}

static void chain_in_the_wrong_order(bool ok)
{
  fill<<<1, 64, 0, s>>>(a);
  if (ok) { order(s, u);
  order(u, t); }
  else { order(u, t);
  order(s, u); }
  add<<<1, 64, 0, t>>>(a, b); // @chain_in_the_wrong_order
  CHECK(cudaGetLastError());
}

// On fresh memory.
static void run(void (*program)(bool), bool ok)
{
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMallocHost(&h, kBytes));
  std::memset(h, 0, kBytes);
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
  run(events_of_a_pipeline, ok);
  run(staging_slot, ok);
  run(event_never_recorded, ok);
  run(host_function_signals, ok);
  run(threads_of_the_host, ok);
  run(queried, ok);
  run(host_to_host, ok);
  run(slices, ok);
  run(array_of_two, ok);
  run(rows_of_an_array, ok);
  run(stream_destroyed, ok);
  run(thrust_on_two_streams, ok);
  run(thrust_that_waits, ok);
  run(prefetched, ok);
  run(freed_on_another, ok);
  run(stream_of_the_thread, ok);
  run(graph_on_two_streams, ok);
  run(value_of_a_stream, ok);
  run(default_stream_between, ok);
  run(forked_and_not_joined, ok);
  run(waited_before_the_record, ok);
  run(chain_in_the_wrong_order, ok);
  for (cudaStream_t stream : {s, t, u}) CHECK(cudaStreamDestroy(stream));
}
