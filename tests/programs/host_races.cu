// SPDX-License-Identifier: Apache-2.0
// What the host itself does with pinned and registered memory while copies use it, seen by pages that are closed meanwhile
// (--host-races). Nothing that the program does may answer otherwise than without the option.
//
// run: racy
// options: --host-races
// unlike-late: what the host stores is seen where the copy runs as well
// expect: error host-race line=LINE(result_read_at_once) message="The host reads"
// expect: error host-race line=LINE(source_filled_again) message="The host writes"
// expect: error host-race line=LINE(result_overwritten) message="The host writes"
// expect: error host-race line=LINE(wait_for_another_stream)
// expect: error host-race line=LINE(event_before_the_copy)
// expect: error host-race line=LINE(query_without_a_loop)
// expect: error host-race line=LINE(end_of_a_large_copy)
// expect: error host-race line=LINE(registered)
// expect: error host-race line=LINE(file_read_into_the_source)
// expect: error host-race line=LINE(thread_without_signals)
// expect: error host-race line=LINE(second_buffer)
// expect: warning host-race line=LINE(function_in_front_of_a_copy) message="inside the call"
// expect: warning host-race line=LINE(flag) message="which cudaMemcpyAsync on"
// expect: warning host-race line=LINE(flag_behind_a_copy) message="The host reads"
// run: right
// options: --host-races
// expect: clean
// run: managed
// device: simulated
// options: --host-races
// expect: error host-race line=LINE(managed_result) message="The host reads"
// expect: error host-race line=LINE(managed_source) message="The host writes"
// run: managed-right
// device: simulated
// options: --host-races
// expect: clean
// run: handler
// options: --host-races
// not-checked: host-race
// expect: clean
#include "answers.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

constexpr std::size_t kBytes = 1 << 16, kCount = kBytes / sizeof(int), kLarge = 1 << 20;
static int *a, *h, *k; // memory of the device, pinned memory
static cudaStream_t s, t;
static volatile int sum;

__global__ void raise(volatile int* flag) { *flag = 1; }

static void wait(cudaStream_t stream) { CHECK(cudaStreamSynchronize(stream)); }
static void copy_out(int* to, cudaStream_t stream = s)
{
  CHECK(cudaMemcpyAsync(to, a, kBytes, cudaMemcpyDeviceToHost, stream));
}
static void copy_in(const int* from, std::size_t bytes = kBytes)
{
  CHECK(cudaMemcpyAsync(a, from, bytes, cudaMemcpyHostToDevice, s));
}

// No mistake, and no end of what is watched: the mistakes come behind it.
static void same_bytes_beside_copies(bool)
{
  for (int i = 0; i < 3; ++i) {
    copy_in(h, 100);
    h[26] = 7;
    wait(s);
  }
}

static void result_read_at_once(bool ok)
{
  copy_out(h);
  if (ok) wait(s);
  sum = h[0]; // @result_read_at_once
}

static void source_filled_again(bool ok)
{
  copy_in(h);
  sum = h[5]; // what is read may be read
  if (ok) wait(s);
  h[5] = 5; // @source_filled_again
}

static void result_overwritten(bool ok)
{
  copy_out(h);
  if (ok) CHECK(cudaDeviceSynchronize());
  h[kCount - 1] = 5; // @result_overwritten
}

static void wait_for_another_stream(bool ok)
{
  copy_out(h);
  wait(ok ? s : t);
  sum = h[0]; // @wait_for_another_stream
}

static void event_before_the_copy(bool ok)
{
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  if (!ok) CHECK(cudaEventRecord(event, s));
  copy_out(h);
  if (ok) CHECK(cudaEventRecord(event, s));
  CHECK(cudaEventSynchronize(event));
  sum = h[0]; // @event_before_the_copy
  CHECK(cudaEventDestroy(event));
}

static void query_without_a_loop(bool ok)
{
  copy_out(h);
  while (ok && cudaStreamQuery(s) == cudaErrorNotReady) {}
  sum = h[0]; // @query_without_a_loop
}

static void end_of_a_large_copy(bool ok)
{
  int *device, *large;
  CHECK(cudaMalloc(&device, kLarge));
  CHECK(cudaMallocHost(&large, kLarge));
  CHECK(cudaMemsetAsync(device, 0, kLarge, s));
  CHECK(cudaMemcpyAsync(large, device, kLarge, cudaMemcpyDeviceToHost, s));
  if (ok) wait(s);
  sum = large[kLarge / sizeof(int) - 1]; // @end_of_a_large_copy
  CHECK(cudaFreeHost(large));
  CHECK(cudaFree(device));
}

static void registered(bool ok)
{
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(cudaHostRegister(memory, kBytes, cudaHostRegisterDefault));
  copy_out(static_cast<int*>(memory));
  if (ok) wait(s);
  sum = *static_cast<int*>(memory); // @registered
  CHECK(cudaHostUnregister(memory));
  CHECK(munmap(memory, kBytes));
}

// The system would answer EFAULT.
static void file_read_into_the_source(bool ok)
{
  const int zeros = open("/dev/zero", O_RDONLY), nothing = open("/dev/null", O_WRONLY);
  copy_in(h);
  ANSWERS(kBytes, write(nothing, h, kBytes));
  if (ok) wait(s);
  ANSWERS(kBytes, read(zeros, h, kBytes)); // @file_read_into_the_source
  close(zeros);
  close(nothing);
}

static void thread_without_signals(bool ok)
{
  copy_out(h);
  if (ok) wait(s);
  std::thread([] {
    sigset_t all;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, nullptr));
    sum = h[0]; // @thread_without_signals
  }).join();
}

static void second_buffer(bool ok)
{
  copy_out(h);
  copy_out(k);
  if (ok) wait(s);
  sum = k[7]; // @second_buffer
}

static void flag(bool ok)
{
  CHECK(cudaMemcpyAsync(h, a, sizeof *h, cudaMemcpyDeviceToHost, s));
  if (ok) wait(s);
  sum = h[0]; // @flag
}

static void flag_behind_a_copy(bool ok)
{
  copy_out(k);
  CHECK(cudaMemcpyAsync(h, a, sizeof *h, cudaMemcpyDeviceToHost, s));
  if (ok) wait(s);
  sum = k[1]; // @flag_behind_a_copy
}

static void CUDART_CB fill(void* values) { static_cast<int*>(values)[0] = 5; }

static void function_in_front_of_a_copy(bool ok)
{
  static int pageable[64];
  CHECK(cudaLaunchHostFunc(s, fill, pageable));
  if (ok) wait(s);
  CHECK(cudaMemcpyAsync(a, pageable, sizeof pageable, cudaMemcpyHostToDevice, s)); // @function_in_front_of_a_copy
}

// ---- what is no race, with all answers as they are without the option

static void CUDART_CB read_back(void* values) { sum = static_cast<int*>(values)[0]; }

static void function_of_the_host()
{
  copy_out(h);
  CHECK(cudaLaunchHostFunc(s, read_back, h));
  wait(s);
}

static void beside_the_copy()
{
  copy_in(h, 100);
  h[kCount / 2] = 7;
  h[26] = 7;
  wait(s);
}

static void there_and_back()
{
  copy_out(h);
  copy_in(h);
  copy_out(h);
  wait(s);
  h[0] = 1;
}

static void mapped_flag()
{
  volatile int* flag = h;
  *flag = 0;
  raise<<<1, 1, 0, s>>>(flag);
  while (*flag == 0) {}
  wait(s);
}

static void child_of_a_fork()
{
  copy_out(h);
  const pid_t child = fork();
  if (child == 0) {
    sum = h[0];
    h[1] = 1;
    _exit(7);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child ? 0 : 1);
  ANSWERS(7, WEXITSTATUS(status));
  wait(s);
}

static void freed_in_flight()
{
  int* memory;
  CHECK(cudaMallocHost(&memory, kBytes));
  copy_out(memory);
  CHECK(cudaFreeHost(memory)); // which waits
}

static void captured()
{
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  copy_out(h);
  CHECK(cudaStreamEndCapture(s, &graph));
  sum = h[0];
  CHECK(cudaGraphDestroy(graph));
}

// The device may use what is closed to the host.
static void managed(bool ok)
{
  int* memory;
  CHECK(cudaMallocManaged(&memory, kBytes));
  copy_out(memory);
  if (ok) wait(s);
  sum = memory[0]; // @managed_result
  wait(s);
  copy_in(memory);
  if (ok) wait(s);
  memory[5] = 5; // @managed_source
  wait(s);
  copy_out(memory);
  raise<<<1, 1, 0, s>>>(memory + 9);
  wait(s);
  ANSWERS(1, memory[9]);
  CHECK(cudaFree(memory));
}

static void on_fault(int) { _exit(4); }

int main(int argc, char** argv)
{
  const bool ok = !started_with(argc, argv, "racy") && !started_with(argc, argv, "managed");
  for (cudaStream_t* stream : {&s, &t}) CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMallocHost(&h, kBytes));
  CHECK(cudaMallocHost(&k, kBytes));
  CHECK(cudaMemset(a, 0, kBytes));
  std::memset(h, 0, kBytes);
  CHECK(cudaDeviceSynchronize());
  if (started_with(argc, argv, "handler")) {
    copy_out(h);
    std::signal(SIGSEGV, on_fault);
    sum = h[0]; // a program with a handler is left alone
    wait(s);
  }
  const bool is_managed = argc > 1 && std::strncmp(argv[1], "managed", 7) == 0;
  if (is_managed) managed(ok);
  for (void (*kind)(bool) :
       {same_bytes_beside_copies, result_read_at_once, source_filled_again, result_overwritten, wait_for_another_stream,
        event_before_the_copy, query_without_a_loop, end_of_a_large_copy, registered, file_read_into_the_source, thread_without_signals,
        second_buffer, flag, flag_behind_a_copy, function_in_front_of_a_copy}) {
    if (is_managed) break;
    kind(ok);
    CHECK(cudaDeviceSynchronize());
  }
  for (void (*kind)() :
       {function_of_the_host, beside_the_copy, there_and_back, mapped_flag, child_of_a_fork, freed_in_flight, captured}) {
    if (!is_managed) kind();
  }
  for (cudaStream_t stream : {s, t}) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFreeHost(k));
  CHECK(cudaFreeHost(h));
  CHECK(cudaFree(a));
}
