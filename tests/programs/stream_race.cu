// SPDX-License-Identifier: Apache-2.0
// Two pieces of work on two streams that use the same memory, ordered and not. `parts` and `offsets` share one buffer
// in pieces; `flag` and `signalled` order by memory what no call orders.
//
// run: set-copy
// expect: error stream-race count=1 api=cudaMemcpyAsync
// run: kernel-copy
// expect: error stream-race count=1 api=cudaMemcpy stacks="used here"@kernel_copy:LINE(copy),"first launched here"@kernel_copy:LINE(write),"allocated here"@main
// run: copy-kernel
// expect: error stream-race count=1 api=cudaLaunchKernel
// run: first-bytes
// expect-simulated: error stream-race count=1
// expect-real: warning stream-race count=1
// run: kernels
// expect-simulated: error stream-race count=1
// expect-real: warning stream-race count=1
// run: pageable
// expect: warning stream-race count=1
// run: columns-meet
// expect: error stream-race count=1
// run: columns
// expect: clean
// run: parts
// expect: clean
// run: offsets
// expect: clean
// run: readers
// expect: clean
// run: event
// expect: clean
// run: host
// expect: clean
// run: blocking
// expect: clean
// run: pageable-waited
// expect: clean
// run: pageable-async
// expect: clean
// run: pinned-source
// expect: clean
// run: flag
// expect: clean
// device: gpu
// run: signalled
// expect: clean
#include "answers.h"

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);

static cudaStream_t s1, s2;
static int *block, *other, *host;

__global__ void write(int* values, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = i;
}

__global__ void read(const int* values, int* sum, int count)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = values[i];
}

__global__ void write_part(int* values, int offset)
{
  values[offset + threadIdx.x] = threadIdx.x;
}

// Polls a flag that a copy sets, and then uses what an earlier copy of the same stream has brought.
__global__ void wait_and_read(volatile int* flag, const int* values, int* sum)
{
  while (*flag == 0) {}
  sum[threadIdx.x] = values[threadIdx.x];
}

__global__ void write_and_signal(int* values, volatile int* signal)
{
  values[threadIdx.x] = threadIdx.x;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *signal = 1;
}

static void parts()
{
  for (int i = 0; i < 2; ++i) {
    const cudaStream_t s = i == 0 ? s1 : s2;
    int* part = block + i * kCount / 2;
    CHECK(cudaMemcpyAsync(part, host + i * kCount / 2, kBytes / 2, cudaMemcpyHostToDevice, s));
    write<<<1, 512, 0, s>>>(part, kCount / 2);
    CHECK(cudaMemcpyAsync(host + i * kCount / 2, part, kBytes / 2, cudaMemcpyDeviceToHost, s));
  }
}

static void offsets()
{
  for (int i = 0; i < 2; ++i) {
    const cudaStream_t s = i == 0 ? s1 : s2;
    const int offset = i * kCount / 2;
    CHECK(cudaMemcpyAsync(block + offset, host + offset, kBytes / 2, cudaMemcpyHostToDevice, s));
    write_part<<<1, 512, 0, s>>>(block, offset);
    CHECK(cudaMemcpyAsync(host + offset, block + offset, kBytes / 2, cudaMemcpyDeviceToHost, s));
  }
}

// Half of each row, of 16 rows.
static void columns(size_t second)
{
  CHECK(cudaMemset2DAsync(block, 256, 0, 128, 16, s1));
  CHECK(cudaMemset2DAsync(reinterpret_cast<char*>(block) + second, 256, 1, 128, 16, s2));
}

static void polled_flag()
{
  int* values = nullptr;
  CHECK(cudaMemset(other, 0, kBytes));
  CHECK(cudaMalloc(&values, kBytes));
  CHECK(cudaDeviceSynchronize());
  wait_and_read<<<1, 512, 0, s1>>>(other, block, values);
  CHECK(cudaMemcpyAsync(block, host, kBytes, cudaMemcpyHostToDevice, s2));
  CHECK(cudaMemsetAsync(other, 1, 4, s2));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(values));
}

static void signalled()
{
  volatile int* answer = host;
  *answer = 0;
  write_and_signal<<<1, 512, 0, s1>>>(block, host);
  while (*answer == 0) {}
  CHECK(cudaMemcpyAsync(host, block, kBytes, cudaMemcpyDeviceToHost, s2));
}

static void order(cudaStream_t first, cudaStream_t then)
{
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(cudaEventRecord(event, first));
  CHECK(cudaStreamWaitEvent(then, event, 0));
  CHECK(cudaEventDestroy(event));
}

static void copy_out(cudaStream_t s) { CHECK(cudaMemcpyAsync(host, block, kBytes, cudaMemcpyDeviceToHost, s)); }

static void kernel_copy() // the default stream does not wait for s1
{
  write<<<2, 512, 0, s1>>>(block, kCount); // @write
  CHECK(cudaMemcpy(host, block, kBytes, cudaMemcpyDeviceToHost)); // @copy
}

static void copy_kernel()
{
  CHECK(cudaMemcpyAsync(block, host, kBytes, cudaMemcpyHostToDevice, s1));
  read<<<2, 512, 0, s2>>>(block, other, kCount);
}

static void first_bytes()
{
  write<<<2, 512, 0, s1>>>(block, kCount);
  CHECK(cudaMemsetAsync(block, 0, 64, s2));
}

static void kernels()
{
  write<<<2, 512, 0, s1>>>(block, kCount);
  read<<<2, 512, 0, s2>>>(block, other, kCount);
}

static void pageable(const char* how)
{
  static int values[kCount];
  if (std::strcmp(how, "pageable-async") == 0) {
    CHECK(cudaMemcpyAsync(block, values, kBytes, cudaMemcpyHostToDevice, s1));
  } else {
    CHECK(cudaMemcpy(block, values, kBytes, cudaMemcpyHostToDevice));
  }
  if (std::strcmp(how, "pageable-waited") == 0) CHECK(cudaStreamSynchronize(nullptr));
  read<<<2, 512, 0, s1>>>(block, other, kCount);
}

static void pinned_source()
{
  CHECK(cudaMemcpy(block, host, kBytes, cudaMemcpyHostToDevice));
  read<<<2, 512, 0, s1>>>(block, other, kCount);
}

static void readers()
{
  read<<<2, 512, 0, s1>>>(block, other, kCount);
  copy_out(s2);
}

static void ordered(const char* how)
{
  write<<<2, 512, 0, s1>>>(block, kCount);
  if (std::strcmp(how, "event") == 0) order(s1, s2);
  if (std::strcmp(how, "host") == 0) CHECK(cudaStreamSynchronize(s1));
  copy_out(s2);
}

static void blocking()
{
  cudaStream_t waits = nullptr;
  CHECK(cudaStreamCreate(&waits));
  write<<<2, 512, 0, waits>>>(block, kCount);
  CHECK(cudaMemcpy(host, block, kBytes, cudaMemcpyDeviceToHost));
  CHECK(cudaStreamDestroy(waits));
}

int main(int argc, char** argv)
{
  const char* how = argc > 1 ? argv[1] : "";
  const auto is = [&](const char* word) { return started_with(argc, argv, word); };
  CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&block, kBytes));
  CHECK(cudaMalloc(&other, kBytes));
  CHECK(cudaMallocHost(&host, kBytes));
  std::memset(host, 0, kBytes);
  CHECK(cudaMemset(block, 0, kBytes));
  TOUCH(other, kBytes);
  CHECK(cudaDeviceSynchronize());
  if (is("set-copy")) {
    CHECK(cudaMemsetAsync(block, 0, kBytes, s1));
    copy_out(s2);
  }
  if (is("kernel-copy")) kernel_copy();
  if (is("copy-kernel")) copy_kernel();
  if (is("first-bytes")) first_bytes();
  if (is("kernels")) kernels();
  if (std::strncmp(how, "pageable", 8) == 0) pageable(how);
  if (is("columns-meet")) columns(64);
  if (is("columns")) columns(128);
  if (is("parts")) parts();
  if (is("offsets")) offsets();
  if (is("readers")) readers();
  if (is("event") || is("host")) ordered(how);
  if (is("blocking")) blocking();
  if (is("pinned-source")) pinned_source();
  if (is("flag")) polled_flag();
  if (is("signalled")) signalled();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(other));
  CHECK(cudaFree(block));
  CHECK(cudaStreamDestroy(s2));
  CHECK(cudaStreamDestroy(s1));
  return 0;
}
