// SPDX-License-Identifier: Apache-2.0
// Everywhere a program may call free(): before main, in threads and at their end, in a forked
// child, in a signal handler, at exit; of ordinary memory and of memory that is registered with
// CUDA, which the C library may free. Prints how many registered blocks it has freed itself,
// children not counted.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cuda_calls.h"

// Clang declares the sized ones only with -fsized-deallocation; the C++ library has them.
void operator delete(void* memory, std::size_t size) noexcept;
void operator delete(void* memory, std::size_t size, std::align_val_t alignment) noexcept;

namespace {

std::atomic<unsigned> freed{0};

void* registered() {
  void* volatile block = std::malloc(4096); // volatile: the compiler must not reason about what
                                            // follows
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

// realloc() that moves a block frees the old one, realloc() that does not frees nothing; delete of
// aligned memory is a free() like others.
void grow_registered() {
  // Large blocks are mapped, so that a small one that grows must move
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  for (int i = 0; i < 50; ++i) {
    void* volatile block = registered();
    void* volatile same = std::realloc(block, 4096);
    if (same != block) std::puts("moved without need");
    errno = 77;
    void* volatile moved =
      i % 2 == 0 ? std::realloc(block, 1 << 24) : reallocarray(block, 1 << 12, 1 << 12);
    if (errno != 77) std::puts("errno has changed");
    if (moved == block) std::puts("not moved");
    cuMemHostUnregister(block);
    std::free(moved);
    ++freed;
  }
  constexpr std::align_val_t kAlignment{256};
  void* volatile aligned = ::operator new(4096, kAlignment);
  if (cuMemHostRegister_v2(aligned, 4096, 0) != 0) std::puts("not registered");
  ::operator delete(aligned, std::size_t{4096}, kAlignment);
  cuMemHostUnregister(aligned);
  ++freed;
}

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
  grow_registered();
  std::printf("child %d\n", fork_and_free());
  std::printf("freed %u\n", freed.load());
}
