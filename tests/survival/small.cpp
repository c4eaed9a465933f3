// SPDX-License-Identifier: Apache-2.0
// Programs that call CUDA where hardly any stack is: in a thread of the smallest size, in a signal
// handler on an alternate stack of 8 KiB, in a coroutine. Below each stack lies a page without
// access. The first argument names the scene, the second whether CUDA is started before ("warm") or
// there ("first").
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "cuda_calls.h"

namespace {

u64 context = 0;
int failed = 0;

void start() {
  if (context != 0) {
    failed += cuCtxSetCurrent(context) != 0;
    return;
  }
  failed += cuInit(0) != 0;
  failed += cuCtxCreate_v2(&context, 0, 0) != 0;
}

__attribute__((noinline)) void pair_at_depth(int depth) {
  if (depth != 0) {
    pair_at_depth(depth - 1);
    asm volatile("" ::: "memory");
    return;
  }
  u64 address = 0;
  failed += cuMemAlloc_v2(&address, 64) != 0;
  failed += cuMemFree_v2(address) != 0;
}

// Each depth is a call stack of its own; the third time it is known.
void work() {
  start();
  for (int round = 0; round < 3; ++round) {
    for (int depth = 0; depth < 8; ++depth) pair_at_depth(depth);
  }
}

// The lower end of memory whose neighbour below must not be touched.
char* make_stack(std::size_t bytes) {
  char* memory = static_cast<char*>(
    mmap(nullptr, bytes + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(memory, 8192, PROT_NONE);
  return memory + 8192;
}

void in_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN));
  pthread_t thread{};
  failed += pthread_create(
              &thread, &attributes, [](void*) -> void* { return work(), nullptr; }, nullptr) != 0;
  pthread_join(thread, nullptr);
}

void in_handler() {
  constexpr std::size_t kBytes = 8192;
  stack_t alternate{};
  alternate.ss_sp = make_stack(kBytes);
  alternate.ss_size = kBytes;
  failed += sigaltstack(&alternate, nullptr) != 0;
  struct sigaction action{};
  action.sa_handler = [](int) { work(); };
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  for (int i = 0; i < 3; ++i) raise(SIGUSR1);
}

ucontext_t outside, inside;

void in_coroutine() {
  constexpr std::size_t kBytes = 8 << 10;
  getcontext(&inside);
  inside.uc_stack.ss_sp = make_stack(kBytes);
  inside.uc_stack.ss_size = kBytes;
  inside.uc_link = &outside;
  makecontext(&inside, work, 0);
  swapcontext(&outside, &inside);
}

} // namespace

int main(int argc, char** argv) {
  const std::string scene = argc > 1 ? argv[1] : "";
  if (argc > 2 && std::strcmp(argv[2], "warm") == 0) work();
  if (scene == "thread") in_thread();
  if (scene == "handler") in_handler();
  if (scene == "coroutine") in_coroutine();
  std::printf("failed %d\n", failed);
  return failed;
}
