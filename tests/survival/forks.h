// SPDX-License-Identifier: Apache-2.0
// Programs that fork: plainly, before other threads begin, and while they are in the middle of
// everything.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cuda_calls.h"

inline void pair(u64 bytes) {
  u64 address = 0;
  const int allocated = cuMemAlloc_v2(&address, bytes);
  const int released = cuMemFree_v2(address);
  if (allocated != 0 || released != 0) std::printf("pair failed %d %d\n", allocated, released);
}

inline int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

inline int fork_plain() {
  pair(1);
  const pid_t quiet = fork();
  if (quiet == 0) _exit(0); // makes no call, leaves no trace
  const pid_t busy = fork();
  if (busy == 0) {
    pair(2);
    _exit(0);
  }
  std::printf("children %d %d\n", wait_for(quiet), wait_for(busy));
  pair(3);
  return 0;
}

// The forking thread ends in the child before another one begins: its log is the parent's and must
// stay so.
inline int fork_then_threads() {
  pair(1);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { pair(2); }).join();
    static pthread_t forker = pthread_self();
    std::thread([] {
      pthread_join(forker, nullptr);
      std::thread([] { pair(4); }).join();
      std::thread([] { pair(5); }).join();
      _exit(0);
    }).detach();
    pthread_exit(nullptr);
  }
  std::printf("child %d\n", wait_for(child));
  pair(3);
  return 0;
}

__attribute__((noinline)) inline void pair_at_depth(unsigned depth) {
  if (depth == 0) return pair(6);
  pair_at_depth(depth - 1);
  asm volatile("" ::: "memory");
}

// Children are forked while other threads are in the middle of everything.
inline int fork_storm() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (unsigned t = 0; t < 4; ++t) {
    busy.emplace_back([&stop, t] {
      for (unsigned i = t; !stop; ++i) {
        if (i % 8 == 0) {
          std::thread([i] { pair_at_depth(i % 60); }).join();
        } else {
          pair_at_depth(i % 100);
        }
      }
    });
  }
  int bad = 0;
  for (unsigned i = 0; i < 60; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      pair_at_depth(i);
      pair(7);
      _exit(0);
    }
    const int status = wait_for(child);
    if (status != 0)
      std::printf("child %u ended with status %x\n", i, static_cast<unsigned>(status));
    bad += status != 0;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  std::printf("bad children %d\n", bad);
  return 0;
}
