// SPDX-License-Identifier: Apache-2.0
// Kernels that are given a block's begin and end, where what lies behind the block was freed: the end is the freed
// block's base. It is a mistake only if that block is meant, so both readings are reported, and none where another launch
// shows that the parameter is an end. Also what else belongs to the block beside it: a pointer that counts from 1, the end of
// registered memory.
//
// unlike-fenced: blocks are no neighbours
// run: pair
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: warning use-after-free count=1 message="one past the end of 2.0 MiB of device memory allocated by cudaMalloc, into which parameter 1 points" stacks="launched here"@pair:LINE(pair),"freed here"@main:LINE(free),"allocated here"@neighbours,"neighbour allocated here"@neighbours
// run: structure
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect-simulated: clean
// expect-real: warning use-after-free count=1 message="one past the end of" stacks="launched here"@structure:LINE(structure),"freed here","allocated here","neighbour allocated here"
// run: graph
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: warning use-after-free count=1 api=cudaGraphLaunch message="one past the end of" stacks="graph launched here"@graph:LINE(launch),"captured here"@capture,"freed here"@main:LINE(free-captured),"allocated here","neighbour allocated here"
// run: known
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
// run: freed
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: error use-after-free count=1 message="passes as parameter 2 the pointer" stacks="launched here"@freed:LINE(freed),"freed here"@main:LINE(free),"allocated here"
// run: one-based
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: warning use-after-free count=1 message="4 bytes before 2.0 MiB of device memory" stacks="launched here"@one_based:LINE(one-based),"freed here"@main:LINE(free-first),"allocated here","neighbour allocated here"
// run: number
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect-simulated: clean
// expect-real: warning use-after-free count=1 message="passes as parameter 1 the number" stacks="launched here"@number:LINE(number),"freed here","allocated here"
// run: registered
// env: GPUMEMTRACE_SIM_GAPS=0
// env: GPUMEMTRACE_SIM_RESTING=0
// expect: clean
#include "answers.h"

#include <cstdint>
#include <cstdlib>

struct Span {
  const float *begin, *end;
};

// None of them touches memory: on a GPU the mistakes must not end the program.
__global__ void sum(const float*, const float*) {}
__global__ void sum_span(Span) {}
__global__ void count_up(unsigned long) {}

constexpr std::size_t kBytes = 2 << 20, kFloats = kBytes / sizeof(float);

// Two blocks side by side, and one that is not beside them. Allocators choose the addresses, so it is tried.
__attribute__((noinline)) static bool neighbours(float*& first, float*& second, float*& other)
{
  constexpr int kTries = 32;
  float* blocks[kTries];
  for (float*& block : blocks) {
    CHECK(cudaMalloc(&block, kBytes));
    TOUCH(block, kBytes);
  }
  first = second = other = nullptr;
  for (float* a : blocks) {
    for (float* b : blocks) {
      if (first == nullptr && b == a + kFloats) first = a, second = b;
    }
  }
  for (float* block : blocks) {
    if (block == first || block == second || first == nullptr) continue;
    const bool apart = block != second + kFloats && block != first - kFloats;
    if (other == nullptr && apart) other = block;
    else CHECK(cudaFree(block));
  }
  return other != nullptr;
}

__attribute__((noinline)) static void pair(const float* first)
{
  sum<<<1, 32>>>(first, first + kFloats); // @pair
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void structure(const float* first)
{
  sum_span<<<1, 32>>>(Span{first + 1, first + kFloats}); // @structure
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void freed(const float* other, const float* second)
{
  sum<<<1, 32>>>(other, second); // @freed
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void one_based(const float* second)
{
  sum<<<1, 32>>>(second - 1, nullptr); // @one-based
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static void number(const float* second)
{
  count_up<<<1, 32>>>(reinterpret_cast<std::uintptr_t>(second) + 12345); // @number
  CHECK(cudaGetLastError());
}

__attribute__((noinline)) static cudaGraphExec_t capture(const float* first)
{
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  sum<<<1, 32, 0, stream>>>(first, first + kFloats);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  return executable;
}

__attribute__((noinline)) static void graph(cudaGraphExec_t executable)
{
  CHECK(cudaGraphLaunch(executable, nullptr)); // @launch
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGraphExecDestroy(executable));
}

// Of the program's heap, where the next byte belongs to malloc.
static void registered()
{
  constexpr std::size_t kHostBytes = 8192;
  char* host = static_cast<char*>(std::malloc(2 * kHostBytes));
  auto* first = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(host) + 4095) / 4096 * 4096);
  CHECK(cudaHostRegister(first, kHostBytes, cudaHostRegisterDefault));
  sum<<<1, 32>>>(first, first + kHostBytes / sizeof(float));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaHostUnregister(first));
  std::free(host);
}

int main(int argc, char** argv)
{
  float *first, *second, *other;
  if (!neighbours(first, second, other)) {
    std::puts("no two blocks lie side by side");
    return 4;
  }
  const auto is = [&](const char* run) { return started_with(argc, argv, run); };
  if (is("graph")) {
    const cudaGraphExec_t executable = capture(first);
    CHECK(cudaFree(second)); // @free-captured
    graph(executable);
  } else if (is("one-based")) {
    CHECK(cudaFree(first)); // @free-first
    one_based(second);
    CHECK(cudaDeviceSynchronize());
    first = second;
  } else {
    CHECK(cudaFree(second)); // @free
  }
  if (is("pair") || is("known")) pair(first);
  if (is("structure")) structure(first);
  if (is("freed")) freed(other, second);
  if (is("number")) number(second);
  if (is("registered")) registered();
  if (is("known")) {
    float* odd = nullptr; // ends where no block can begin
    CHECK(cudaMalloc(&odd, 1000));
    TOUCH(odd, 1000);
    sum<<<1, 32>>>(odd, odd + 250);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(odd));
  }
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(first));
  CHECK(cudaFree(other));
  return 0;
}
