// SPDX-License-Identifier: Apache-2.0
// A process that forks behind its first CUDA call: CUDA answers nothing in the child. A child that calls it all the
// same has one mistake, however many of its calls fail; one that leaves it alone, or forks first, has none.
// A static runtime answers by itself on a GPU: no call reaches the driver, and nothing is seen of the child.
// run: uses
// processes-shared: 2
// expect-shared: warning api-error message="CUDA was used in a forked child: process" stacks="failed here"@child:LINE(first)
// expect-static-simulated: warning api-error message="CUDA was used in a forked child: process" stacks="failed here"@child:LINE(first)
// expect-static-real: clean
// run: leaves-alone
// processes: 1
// expect: clean
// run: forks-first
// processes: 2
// expect: clean
#include "answers.h"

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

static void child(void* of_parent)
{
  void* p = nullptr;
  ANSWERS(3, cudaMalloc(&p, 1024)); // @first
  ANSWERS(3, cudaMemset(of_parent, 0, 1024));
  ANSWERS(3, cudaDeviceSynchronize());
  ANSWERS(3, cudaFree(of_parent));
}

static void use()
{
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 1024));
  TOUCH(p, 1024);
  CHECK(cudaFree(p));
}

int main(int argc, char** argv)
{
  void* p = nullptr;
  const bool first = started_with(argc, argv, "forks-first");
  if (!first) {
    CHECK(cudaMalloc(&p, 1024));
    TOUCH(p, 1024);
  }
  const pid_t pid = fork();
  if (pid == 0) {
    if (started_with(argc, argv, "uses")) child(p);
    if (first) use();
    _exit(0);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
    return 4;
  CHECK(cudaFree(p));
  use();
  return 0;
}
