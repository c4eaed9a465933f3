// SPDX-License-Identifier: Apache-2.0
// Waits that are forgotten, and that are not, with work that runs as late as its order allows (--late). The exit status
// is 1 where a result is wrong. Without the option all are right.
//
// unlike-fenced: a kernel's fault ends the context
// run: reused
// device: simulated
// options: --late 10s
// exit: 1
// expect: error host-race count=1 message="The host changed 1.0 KiB of 4.0 KiB of pinned" stacks="copied here"@reuse:LINE(copy),"allocated here"@main
// run: reused-at-once
// unlike-late: the mistake shows
// device: simulated
// expect: clean
// run: reused-waited
// device: simulated
// options: --late 10s
// expect: clean
// run: reused-event
// device: simulated
// options: --late 10s
// expect: clean
// run: two-buffers
// device: simulated
// options: --late 10s
// expect: clean
// run: read-early
// device: simulated
// options: --late 10s
// exit: 1
// expect: clean
// run: read-queried
// device: simulated
// options: --late 10s
// expect: clean
// run: other-waited
// device: simulated
// options: --late 10s
// exit: 1
// expect: clean
// run: chain
// device: simulated
// options: --late 10s
// expect: clean
// run: default-stream
// device: simulated
// options: --late 10s
// expect: clean
// run: pageable
// device: simulated
// options: --late 10s
// expect: clean
// run: host-polls
// device: simulated
// options: --late 20ms
// expect: clean
// run: handshake
// device: simulated
// options: --late 20ms
// expect: clean
// run: unordered
// device: simulated
// options: --late 10s
// exit: 1
// expect: error stream-race count=1
// run: kernel-polls
// device: simulated
// options: --late 10s
// expect: clean
// run: fault
// device: simulated
// options: --late 10s
// exit: 1
// expect: error kernel-out-of-bounds count=1 stacks="accessed here"@far:LINE(far),"launched here"@beyond:LINE(beyond),"allocated here"@main
// not-checked: leak
#include "answers.h"

#include <cstdlib>
#include <cstring>

constexpr int kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(int);

static cudaStream_t s1, s2;
static int *first, *second, *sums, *pinned, *other;

__global__ void sum(const int* values, int* out)
{
  int all = 0;
  for (int i = 0; i < kCount; ++i) all += values[i];
  *out = all;
}

__global__ void far(int* values)
{
  values[kCount * 1024] = 1; // @far
}

__global__ void raise(volatile int* flag)
{
  *flag = 1;
}

__global__ void await(volatile int* flag, int* out)
{
  while (*flag == 0) {}
  *out = 7;
}

__global__ void answer(volatile int* flags)
{
  flags[0] = 1;
  while (flags[1] == 0) {}
  flags[2] = 1;
}

static void fill(int* values, int value)
{
  for (int i = 0; i < kCount; ++i) values[i] = value;
}

// One pinned block is the source of two copies. Between them the program waits, or does not.
static bool reuse(const char* how)
{
  cudaEvent_t copied;
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  int* const sources[] = {pinned, strcmp(how, "two-buffers") == 0 ? other : pinned};
  int* const targets[] = {first, second};
  for (int k = 0; k < 2; ++k) {
    fill(sources[k], k + 1);
    CHECK(cudaMemcpyAsync(targets[k], sources[k], kBytes, cudaMemcpyHostToDevice, s1)); // @copy
    CHECK(cudaEventRecord(copied, s1));
    sum<<<1, 1, 0, s1>>>(targets[k], sums + k);
    if (strcmp(how, "reused-waited") == 0) CHECK(cudaStreamSynchronize(s1));
    if (strcmp(how, "reused-event") == 0) CHECK(cudaEventSynchronize(copied));
  }
  CHECK(cudaStreamSynchronize(s1));
  int results[2];
  CHECK(cudaMemcpy(results, sums, sizeof results, cudaMemcpyDeviceToHost));
  CHECK(cudaEventDestroy(copied));
  return results[0] == kCount && results[1] == 2 * kCount;
}

// A result is read behind the copy's call, or behind a wait for it.
static bool read(const char* how)
{
  fill(pinned, 0);
  CHECK(cudaMemsetAsync(first, 1, kBytes, s1));
  CHECK(cudaMemcpyAsync(pinned, first, kBytes, cudaMemcpyDeviceToHost, s1));
  if (strcmp(how, "read-queried") == 0) {
    while (cudaStreamQuery(s1) == cudaErrorNotReady) {}
  }
  if (strcmp(how, "other-waited") == 0) CHECK(cudaStreamSynchronize(s2));
  const bool is_right = pinned[kCount - 1] == 0x01010101;
  CHECK(cudaDeviceSynchronize());
  return is_right;
}

// From stream to stream by events, one of which is recorded again.
static bool chain()
{
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  fill(pinned, 3);
  CHECK(cudaMemcpyAsync(first, pinned, kBytes, cudaMemcpyHostToDevice, s1));
  CHECK(cudaEventRecord(event, s1));
  CHECK(cudaStreamWaitEvent(s2, event, 0));
  CHECK(cudaMemcpyAsync(second, first, kBytes, cudaMemcpyDeviceToDevice, s2));
  CHECK(cudaEventRecord(event, s2));
  CHECK(cudaStreamWaitEvent(s1, event, 0));
  sum<<<1, 1, 0, s1>>>(second, sums);
  CHECK(cudaMemcpyAsync(other, sums, sizeof(int), cudaMemcpyDeviceToHost, s1));
  CHECK(cudaStreamSynchronize(s1));
  const bool is_right = *other == 3 * kCount;
  CHECK(cudaEventDestroy(event));
  return is_right;
}

// The default stream waits for blocking streams, and a copy on it for what is there.
static bool default_stream()
{
  cudaStream_t blocking;
  CHECK(cudaStreamCreate(&blocking));
  fill(pinned, 4);
  CHECK(cudaMemcpyAsync(first, pinned, kBytes, cudaMemcpyHostToDevice, blocking));
  sum<<<1, 1>>>(first, sums);
  CHECK(cudaMemcpyAsync(sums + 1, sums, sizeof(int), cudaMemcpyDeviceToDevice, blocking));
  int result = 0;
  CHECK(cudaMemcpy(&result, sums + 1, sizeof result, cudaMemcpyDeviceToHost));
  CHECK(cudaStreamDestroy(blocking));
  return result == 4 * kCount;
}

// The host may use pageable memory again when the call returns.
static bool pageable()
{
  int* const values = static_cast<int*>(malloc(kBytes));
  fill(values, 5);
  CHECK(cudaMemcpyAsync(first, values, kBytes, cudaMemcpyHostToDevice, s1));
  fill(values, 6);
  sum<<<1, 1, 0, s1>>>(first, sums);
  CHECK(cudaMemcpyAsync(values, sums, sizeof(int), cudaMemcpyDeviceToHost, s1));
  const bool is_right = *values == 5 * kCount;
  free(values);
  return is_right;
}

static bool host_polls()
{
  *pinned = 0;
  raise<<<1, 1, 0, s1>>>(pinned);
  while (*static_cast<volatile int*>(pinned) == 0) {}
  return true;
}

// Each waits for what the other stores.
static bool handshake()
{
  pinned[0] = pinned[1] = pinned[2] = 0;
  answer<<<1, 1, 0, s1>>>(pinned);
  while (*static_cast<volatile int*>(pinned) == 0) {}
  static_cast<volatile int*>(pinned)[1] = 1;
  while (static_cast<volatile int*>(pinned)[2] == 0) {}
  return true;
}

// The default stream does not wait for a stream of the other kind.
static bool unordered()
{
  sum<<<1, 1, 0, s1>>>(first, sums + 1);
  CHECK(cudaMemsetAsync(first, 1, kBytes, s1));
  int value = 0;
  CHECK(cudaMemcpy(&value, first, sizeof value, cudaMemcpyDeviceToHost));
  CHECK(cudaDeviceSynchronize());
  return value == 0x01010101;
}

static bool kernel_polls()
{
  *pinned = 0;
  await<<<1, 1, 0, s1>>>(pinned, sums);
  CHECK(cudaMemcpyAsync(other, sums, sizeof(int), cudaMemcpyDeviceToHost, s1));
  *static_cast<volatile int*>(pinned) = 1;
  CHECK(cudaStreamSynchronize(s1));
  return *other == 7;
}

// The launch answers 0, and the wait has the error.
static bool beyond()
{
  far<<<1, 1, 0, s1>>>(first); // @beyond
  if (cudaGetLastError() != cudaSuccess) return true;
  return cudaStreamSynchronize(s1) == cudaSuccess;
}

int main(int argc, char** argv)
{
  const char* const how = argc > 1 ? argv[1] : "";
  CHECK(cudaStreamCreateWithFlags(&s1, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s2, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&first, kBytes));
  CHECK(cudaMalloc(&second, kBytes));
  CHECK(cudaMalloc(&sums, 2 * sizeof(int)));
  CHECK(cudaMallocHost(&pinned, kBytes));
  CHECK(cudaMallocHost(&other, kBytes));
  CHECK(cudaMemset(first, 0, kBytes));
  CHECK(cudaMemset(second, 0, kBytes));
  CHECK(cudaMemset(sums, 0, 2 * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  bool is_right = false;
  if (strcmp(how, "chain") == 0) is_right = chain();
  else if (strcmp(how, "default-stream") == 0) is_right = default_stream();
  else if (strcmp(how, "pageable") == 0) is_right = pageable();
  else if (strcmp(how, "host-polls") == 0) is_right = host_polls();
  else if (strcmp(how, "handshake") == 0) is_right = handshake();
  else if (strcmp(how, "unordered") == 0) is_right = unordered();
  else if (strcmp(how, "kernel-polls") == 0) is_right = kernel_polls();
  else if (strcmp(how, "fault") == 0) return beyond() ? 0 : 1;
  else if (strncmp(how, "re", 2) == 0 && strncmp(how, "read", 4) != 0) is_right = reuse(how);
  else if (strcmp(how, "two-buffers") == 0) is_right = reuse(how);
  else is_right = read(how);
  CHECK(cudaFree(first));
  CHECK(cudaFree(second));
  CHECK(cudaFree(sums));
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFreeHost(other));
  CHECK(cudaStreamDestroy(s1));
  CHECK(cudaStreamDestroy(s2));
  return is_right ? 0 : 1;
}
