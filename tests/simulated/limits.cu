// SPDX-License-Identifier: Apache-2.0
// Kernels that take too long, and programs that launch too much: one of them for each word that
// stands as the first argument. What is printed before the first launch says that it comes now.
#include <cuda_runtime.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include <unistd.h>

namespace {

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "limits.cu:%d: %s\n", line, cudaGetErrorString(error));
  std::exit(3);
}
#define CHECK(call) check(call, __LINE__)

} // namespace

// Tries are counted: it is only slow, as far as can be known.
__global__ void wait_for(volatile int* flag) {
  unsigned long long tries = 0;
  while (*flag == 0) ++tries; // @wait
  *flag = static_cast<int>(tries);
}

// Even threads wait at one barrier, odd ones at another: each needs all threads of the block.
__global__ void cross(int* values) {
  if (threadIdx.x % 64 < 32) asm volatile("barrier.sync 1, 64;" ::: "memory"); // @one
  else asm volatile("barrier.sync 2, 64;" ::: "memory");                       // @other
  values[threadIdx.x] = 1;
}

__global__ void count_up(int* values) { atomicAdd(values, 1); }
__global__ void half(float* error) { *error = *error / 2 + 1; }

namespace {

int* zeros() {
  int* values = nullptr;
  CHECK(cudaMalloc(&values, 64 * sizeof(int)));
  CHECK(cudaMemset(values, 0, 64 * sizeof(int)));
  std::printf("launches now\n");
  std::fflush(stdout);
  return values;
}

void endless() {
  int* flag = zeros();
  wait_for<<<2, 32>>>(flag);
  const cudaError_t answer = cudaDeviceSynchronize();
  std::printf("goes on with %s\n", cudaGetErrorName(answer));
  cudaFree(flag);
}

void deadlock() {
  int* values = zeros();
  cross<<<1, 64>>>(values);
  std::printf("goes on with %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  cudaFree(values);
}

void many(int launches) {
  int* values = zeros();
  for (int i = 0; i < launches; ++i) count_up<<<1, 1>>>(values);
  int count = 0;
  CHECK(cudaMemcpy(&count, values, sizeof count, cudaMemcpyDeviceToHost));
  std::printf("%d launches ran\n", count);
  CHECK(cudaFree(values));
}

// The error goes to 2, and this waits for 0: the loop never ends.
void until_it_converges() {
  float error = 0, *on_device = nullptr;
  int* values = zeros();
  CHECK(cudaMalloc(&on_device, sizeof error));
  CHECK(cudaMemset(on_device, 0, sizeof error));
  do {
    half<<<1, 1>>>(on_device);
    CHECK(cudaMemcpy(&error, on_device, sizeof error, cudaMemcpyDeviceToHost));
  } while (error != 0);
  CHECK(cudaFree(on_device));
  CHECK(cudaFree(values));
}

void launches(int count) {
  int* values = zeros();
  count_up<<<1, 1>>>(values);
  const std::clock_t begin = std::clock();
  for (int i = 0; i < count; ++i) count_up<<<1, 1>>>(values);
  CHECK(cudaDeviceSynchronize());
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%.2f us of processor time a launch\n", 1e6 * seconds / count);
  CHECK(cudaFree(values));
}

// Ends, in one of several ways, when 50 launches have run.
void run_and(void (*end)()) {
  int* values = zeros();
  for (int i = 0; i < 50; ++i) count_up<<<1, 1>>>(values);
  CHECK(cudaFree(values));
  end();
}

void die() { raise(SIGKILL); }
void leave() { _exit(5); }

void die_inside() {
  int* values = zeros();
  for (int i = 0; i < 3; ++i) count_up<<<1, 1>>>(values);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    raise(SIGKILL);
  }).detach();
  wait_for<<<1, 1>>>(values + 1);
  CHECK(cudaFree(values));
}

// Needs what the simulated device does not have.
bool shares_with_nvscisync() {
  int attributes[64] = {};
  return cudaDeviceGetNvSciSyncAttributes(attributes, 0, cudaNvSciSyncAttrSignal) == cudaSuccess;
}

int gives_up(int status) {
  int* values = zeros();
  if (!shares_with_nvscisync()) return status;
  CHECK(cudaFree(values));
  return 0;
}

void goes_on() {
  int* values = zeros(); // and keeps another block
  zeros();
  if (!shares_with_nvscisync()) std::puts("without NvSciSync");
  CHECK(cudaFree(values));
}

} // namespace

int main(int argc, char** argv) {
  const char* word = argc > 1 ? argv[1] : "";
  if (std::strcmp(word, "endless") == 0) endless();
  else if (std::strcmp(word, "deadlock") == 0) deadlock();
  else if (std::strcmp(word, "many") == 0) many(20);
  else if (std::strcmp(word, "converge") == 0) until_it_converges();
  else if (std::strcmp(word, "launches") == 0) launches(100'000);
  else if (std::strcmp(word, "abort") == 0) run_and(std::abort);
  else if (std::strcmp(word, "kill") == 0) run_and(die);
  else if (std::strcmp(word, "exit") == 0) run_and(leave);
  else if (std::strcmp(word, "kill-inside") == 0) die_inside();
  else if (std::strcmp(word, "gives-up-0") == 0) return gives_up(0);
  else if (std::strcmp(word, "gives-up-1") == 0) return gives_up(1);
  else if (std::strcmp(word, "goes-on") == 0) goes_on();
  else return 2;
  return 0;
}
