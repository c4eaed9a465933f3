// SPDX-License-Identifier: Apache-2.0
// Everywhere a program may call free(): before main, in threads and at their end, in a forked child, in a signal handler,
// at exit; of ordinary memory and of memory that is registered with CUDA, which the C library may free. Prints how many
// registered blocks it has freed itself, children not counted.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cuda_calls.h"

namespace {

std::atomic<unsigned> freed{0};

void* registered() {
  void* volatile block = std::malloc(4096); // volatile: the compiler must not judge what follows
  if (cuMemHostRegister_v2(block, 4096, 0) != 0) std::puts("not registered");
  return block;
}

void free_registered() {
  void* volatile block = registered();
  errno = 77;
  std::free(block);
  if (errno != 77) std::puts("errno has changed");
  cuMemHostUnregister(block);
  ++freed;
}

void ordinary() {
  void* volatile block = std::malloc(100);
  std::free(block);
  delete new std::vector<int>(10);
}

__attribute__((constructor(101))) void before_everything() { ordinary(); }
__attribute__((destructor(101))) void after_everything() { ordinary(); }

struct AtEnd {
  ~AtEnd() {
    free_registered();
    ordinary();
  }
};
thread_local AtEnd at_thread_end;

void thread_body() {
  (void)&at_thread_end; // made here, so that it ends with the thread
  for (int i = 0; i < 200; ++i) {
    ordinary();
    free_registered();
    void* kept = registered(); // released as it should be: no record
    cuMemHostUnregister(kept);
    std::free(kept);
  }
}

void handler(int) { free_registered(); }

int fork_and_free() {
  void* volatile block = registered();
  const pid_t child = fork();
  if (child == 0) {
    std::free(block); // the child's copy; the parent's registration is nothing of its
    ordinary();
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  cuMemHostUnregister(block);
  std::free(block);
  return status;
}

} // namespace

int main() {
  ordinary();
  free_registered();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(thread_body);
  for (std::thread& thread : threads) thread.join();
  std::signal(SIGUSR1, handler);
  raise(SIGUSR1);
  std::printf("child %d\n", fork_and_free());
  std::printf("freed %u\n", freed.load());
}
