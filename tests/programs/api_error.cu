// SPDX-License-Identifier: Apache-2.0
// Failed calls that no other finding explains. The runtime refuses a copy of an unknown kind by itself, so that with a
// static runtime no driver call is there to be seen. cudaErrorNotReady of a query is an answer, not an error.
//
// run: kind
// expect-shared: warning api-error count=1 api=cudaMemcpy stacks="failed here"@copy_of_unknown_kind:LINE(kind)
// expect-static: clean
// run: query
// expect: clean
#include "answers.h"

static void copy_of_unknown_kind(char* block)
{
  char host[64] = {};
  auto kind = static_cast<cudaMemcpyKind>(42);
  ANSWERS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(block, host, sizeof host, kind)); // @kind
}

// Whether the work is still running is a matter of luck; both answers are fine.
static void query(char* block)
{
  for (int i = 0; i < 8; ++i)
    CHECK(cudaMemsetAsync(block, i, 4096, nullptr));
  cudaError_t answer = cudaStreamQuery(nullptr);
  if (answer != cudaErrorNotReady)
    CHECK(answer);
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv)
{
  char* block = nullptr;
  CHECK(cudaMalloc(&block, 4096));
  TOUCH(block, 4096);
  if (started_with(argc, argv, "kind"))
    copy_of_unknown_kind(block);
  else
    query(block);
  CHECK(cudaFree(block));
  return 0;
}
