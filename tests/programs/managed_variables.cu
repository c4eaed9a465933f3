// SPDX-License-Identifier: Apache-2.0
// __managed__ variables: memory that host and device reach at one address, and that no call allocated. Copies may take
// them for either side's memory.
//
// run:
// expect: clean
// run: by-module
// device: simulated
// expect: clean
// run: past
// device: simulated
// expect: error copy-out-of-bounds count=1 api=cudaMemcpy message="static managed memory" stacks="looked up here","copied here"@main:LINE(past)
// run: free
// device: simulated
// expect: error invalid-free count=1 api=cudaFree message="static managed memory" stacks="freed here"@main:LINE(free),"looked up here"
#include "answers.h"

constexpr size_t kCount = 64;
__managed__ int counts[kCount];
__managed__ int first;

__global__ void idle() {}

// The driver hands out __managed__ variables by the same call as all others.
static int* look_up_in_module()
{
  cudaFunction_t function = nullptr;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(idle)));
  int (*module_of)(void**, cudaFunction_t) = nullptr;
  int (*variable_of)(int**, size_t*, void*, const char*) = nullptr;
  CHECK(cudaGetDriverEntryPointByVersion("cuFuncGetModule", reinterpret_cast<void**>(&module_of), 13000, cudaEnableDefault));
  CHECK(cudaGetDriverEntryPointByVersion("cuModuleGetGlobal", reinterpret_cast<void**>(&variable_of), 13000, cudaEnableDefault));
  void* module = nullptr;
  int* variable = nullptr;
  size_t bytes = 0;
  CHECK(module_of(&module, function));
  CHECK(variable_of(&variable, &bytes, module, "counts"));
  return variable;
}

int main(int argc, char** argv)
{
  constexpr auto kUp = cudaMemcpyHostToDevice, kDown = cudaMemcpyDeviceToHost, kAcross = cudaMemcpyDeviceToDevice;
  int values[kCount] = {1, 2, 3};
  int back[kCount] = {};
  int *block = nullptr, *taken = started_with(argc, argv, "by-module") ? look_up_in_module() : counts;
  CHECK(cudaMalloc(&block, sizeof values));
  CHECK(cudaMemcpy(taken, values, sizeof values, kUp)); // as the device's
  CHECK(cudaMemcpy(block, taken, sizeof values, kUp)); // as the host's
  CHECK(cudaMemcpy(taken, block, sizeof values, kDown));
  CHECK(cudaMemcpy(taken, block, sizeof values, kAcross));
  CHECK(cudaMemcpy(&first, block, sizeof first, cudaMemcpyDefault));
  CHECK(cudaMemcpyToSymbol(counts, values, sizeof values));
  CHECK(cudaMemcpyFromSymbol(back, counts, sizeof back));
  if (started_with(argc, argv, "past"))
    ANSWERS(cudaErrorInvalidValue, cudaMemcpy(taken + 1, values, sizeof values, kUp)); // @past
  if (started_with(argc, argv, "free"))
    ANSWERS(cudaErrorInvalidValue, cudaFree(taken)); // @free
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(block));
  return first != 1 || counts[1] != 2 || std::memcmp(values, back, sizeof values) != 0;
}
