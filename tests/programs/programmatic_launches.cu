// SPDX-License-Identifier: Apache-2.0
// Launches that may begin before the one in front of them has ended, each with its right twin.
//
// compute capability: 90
// run: racy
// device: simulated
// expect: error global-race line=LINE(read_early) message="the launch in front of it, writes them" stacks="accessed here"@take:LINE(read_early),"accessed here"@give:LINE(given),"launched here"@launch_behind:LINE(behind),"launched here"@run:LINE(first),"allocated here"@main:LINE(numbers)
// expect: error global-race line=LINE(overwritten) message="the launch in front of it, reads them"
// expect: error global-race line=LINE(read_unfenced) message="writes them at"
// expect: error global-race line=LINE(read_by_others) message="writes them at"
// expect: error global-race line=LINE(read_in_a_chain) message="a launch further in front of it, writes them at"
// run: right
// device: simulated
// expect: clean
// run: right-3
// device: simulated
// options: --device-seed 3
// expect: clean
// run: racy
// device: simulated
// options: --late 1
// expect: error global-race line=LINE(read_early) message="the launch in front of it, writes them"
// expect: error global-race line=LINE(overwritten) message="the launch in front of it, reads them"
// expect: error global-race line=LINE(read_unfenced) message="writes them at"
// expect: error global-race line=LINE(read_by_others) message="writes them at"
// expect: error global-race line=LINE(read_in_a_chain) message="a launch further in front of it, writes them at"
// run: right-late
// device: simulated
// options: --late 1
// expect: clean
// run: graph
// device: simulated
// expect: error global-race line=LINE(read_early) message="the launch in front of it, writes them" stacks="accessed here"@take:LINE(read_early),"accessed here"@give:LINE(given),"graph launched here"@run_graph:LINE(graph),"captured here"@launch_behind:LINE(behind),"allocated here"@main:LINE(numbers)
// expect: error global-race line=LINE(overwritten) message="the launch in front of it, reads them"
// expect: error global-race line=LINE(read_unfenced) message="writes them at"
// run: right-graph
// device: simulated
// expect: clean
#include "answers.h"

constexpr int kBlocks = 4, kThreads = 64, kNumbers = kBlocks * kThreads;

__device__ int thread_of_grid() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void give(int* numbers)
{
  cudaTriggerProgrammaticLaunchCompletion();
  numbers[thread_of_grid()] = thread_of_grid(); // @given
}

template <bool is_right>
__global__ void take(const int* numbers, int* sums)
{
  if (is_right)
    cudaGridDependencySynchronize();
  sums[thread_of_grid()] = numbers[thread_of_grid()] + 1; // @read_early
}

__global__ void read(const int* numbers, int* sums)
{
  cudaTriggerProgrammaticLaunchCompletion();
  sums[thread_of_grid()] = numbers[thread_of_grid()];
}

template <bool is_right>
__global__ void overwrite(int* numbers)
{
  const int mine = thread_of_grid() * 3; // what needs nothing of the launch in front
  if (is_right)
    cudaGridDependencySynchronize();
  numbers[thread_of_grid()] = mine; // @overwritten
}

template <bool is_right>
__global__ void give_early(int* numbers)
{
  numbers[thread_of_grid()] = 5;
  if (is_right)
    __threadfence();
  cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void take_early(const int* numbers, int* sums)
{
  sums[thread_of_grid()] = numbers[thread_of_grid()] + 2; // @read_unfenced
}

// One thread of each block waits, or of the first block alone.
template <bool is_right>
__global__ void take_by_one(const int* numbers, int* sums)
{
  if (threadIdx.x == 0 && (is_right || blockIdx.x == 0))
    cudaGridDependencySynchronize();
  __syncthreads();
  sums[thread_of_grid()] = numbers[thread_of_grid()] + 3; // @read_by_others
}

// In between, a launch that needs nothing of what is in front of it, and waits all the same, or does not.
template <bool is_right>
__global__ void between(int* sums)
{
  if (is_right)
    cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
  sums[thread_of_grid() + kNumbers] = 1;
}

__global__ void take_behind_another(const int* numbers, int* sums)
{
  sums[thread_of_grid()] = numbers[thread_of_grid()] + 4; // @read_in_a_chain
}

static cudaStream_t work_of; // into which stream launches go

template <class... Parameters, class... Arguments>
static void launch_first(void (*kernel)(Parameters...), Arguments... arguments)
{
  kernel<<<kBlocks, kThreads, 0, work_of>>>(arguments...);
}

template <class... Parameters, class... Arguments>
static void launch_behind(void (*kernel)(Parameters...), Arguments... arguments)
{
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(kBlocks);
  config.blockDim = dim3(kThreads);
  config.stream = work_of;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...)); // @behind
}

template <bool is_right>
static void run(int* numbers, int* sums)
{
  launch_first(give, numbers); // @first
  launch_behind(take<is_right>, numbers, sums);
  CHECK(cudaDeviceSynchronize());
  launch_first(read, numbers, sums);
  launch_behind(overwrite<is_right>, numbers);
  launch_first(give_early<is_right>, numbers);
  launch_behind(take_early, numbers, sums);
  CHECK(cudaDeviceSynchronize());
  launch_first(give, numbers);
  launch_behind(take_by_one<is_right>, numbers, sums);
  CHECK(cudaDeviceSynchronize());
  launch_first(give, numbers);
  launch_behind(between<is_right>, sums);
  launch_behind(take_behind_another, numbers, sums);
  CHECK(cudaDeviceSynchronize());
}

// As nodes of a graph. Behind a node that is no kernel, and behind two nodes, nothing is overlapped.
template <bool is_right>
static void run_graph(int* numbers, int* sums)
{
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t made;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work_of = stream;
  launch_first(give, numbers);
  launch_behind(take<is_right>, numbers, sums);
  launch_first(read, numbers, sums);
  launch_behind(overwrite<is_right>, numbers);
  launch_first(give_early<is_right>, numbers);
  launch_behind(take_early, numbers, sums);
  launch_first(give, numbers);
  CHECK(cudaMemsetAsync(sums, 0, sizeof(int), stream));
  launch_behind(take<false>, numbers, sums);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&made, graph, 0));
  CHECK(cudaGraphLaunch(made, stream)); // @graph
  launch_behind(take<false>, numbers, sums);
  CHECK(cudaStreamSynchronize(stream));
  work_of = nullptr;
  CHECK(cudaGraphExecDestroy(made));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char** argv)
{
  int *numbers = nullptr, *sums = nullptr;
  CHECK(cudaMalloc(&numbers, kNumbers * sizeof(int))); // @numbers
  CHECK(cudaMalloc(&sums, 2 * kNumbers * sizeof(int)));
  TOUCH(numbers, kNumbers * sizeof(int));
  if (started_with(argc, argv, "racy"))
    run<false>(numbers, sums);
  else if (started_with(argc, argv, "graph"))
    run_graph<false>(numbers, sums);
  else if (started_with(argc, argv, "right-graph"))
    run_graph<true>(numbers, sums);
  else
    run<true>(numbers, sums);
  // What the host has waited for, what is launched without the attribute, and what another call stands between is over
  launch_first(give, numbers);
  CHECK(cudaDeviceSynchronize());
  launch_behind(take<false>, numbers, sums);
  launch_first(give, numbers);
  launch_first(take<false>, numbers, sums);
  launch_first(give, numbers);
  CHECK(cudaMemsetAsync(sums, 0, sizeof(int), nullptr));
  launch_behind(take<false>, numbers, sums);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(numbers));
  CHECK(cudaFree(sums));
}
