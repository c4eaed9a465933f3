// SPDX-License-Identifier: Apache-2.0
// Programs that call without end or very often: killed at random, in 256 threads, in thousands of
// threads one after another, with a handler that cuts in. The first argument names the scene, the
// second its size.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>
#include <vector>

#include "cuda_calls.h"
#include "truth.h"

namespace {

void rest(long nanoseconds) {
  const timespec pause{0, nanoseconds};
  nanosleep(&pause, nullptr);
}

std::atomic<unsigned> returned{0}; // calls of all threads

// Allocates and frees until the process is killed; says so of every call that returned.
void call_without_end(unsigned thread) {
  std::atomic<u64>* truth = Truth::row(thread);
  u64 kept[8] = {};
  for (u64 i = 0;; ++i) {
    u64& address = kept[i % 8];
    if (address != 0) Truth::returned(truth, address, cuMemFree_v2(address), true);
    const int result = cuMemAlloc_v2(&address, 64 + i % 1000);
    Truth::returned(truth, address, result, false);
    ++returned;
    if (i % 4 == 0) rest(20000);
  }
}

int endless(unsigned threads, bool leave) {
  std::vector<std::thread> all;
  for (unsigned i = 0; i < threads; ++i) all.emplace_back(call_without_end, i);
  if (leave) { // main returns, the threads go on until the process is gone
    for (std::thread& thread : all) thread.detach();
    while (returned < 1000) rest(1'000'000);
    return 0;
  }
  for (std::thread& thread : all) thread.join();
  return 0;
}

// Each thread frees what another allocated.
int swap_blocks(unsigned threads) {
  static std::atomic<u64> boxes[64];
  static std::atomic<unsigned> refused{0};
  std::vector<std::thread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([t] {
      for (unsigned i = 0; i < 200; ++i) {
        u64 mine = 0;
        if (cuMemAlloc_v2(&mine, 128) != 0) ++refused;
        const u64 other = boxes[(t * 7 + i) % 64].exchange(mine);
        if (other != 0 && cuMemFree_v2(other) != 0) ++refused;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  for (std::atomic<u64>& box : boxes) {
    const u64 left = box.exchange(0);
    if (left != 0 && cuMemFree_v2(left) != 0) ++refused;
  }
  std::printf("refused %u\n", refused.load());
  return 0;
}

int short_threads(unsigned count) {
  constexpr unsigned kAtOnce = 8;
  for (unsigned done = 0; done < count; done += kAtOnce) {
    std::thread threads[kAtOnce];
    for (std::thread& thread : threads) {
      thread = std::thread([] {
        u64 address = 0;
        cuMemAlloc_v2(&address, 32);
        cuMemFree_v2(address);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  return 0;
}

__attribute__((noinline)) int at_depth(unsigned depth, u64* address) {
  if (depth == 0) return cuMemAlloc_v2(address, 100);
  const int result = at_depth(depth - 1, address);
  asm volatile("" ::: "memory"); // no tail call: every depth is another stack
  return result;
}

// `count` pairs from changing stacks, launches in between; counts what the driver answered.
int many(unsigned count) {
  unsigned failed = 0;
  for (unsigned i = 0; i < count; ++i) {
    u64 address = 0;
    failed += at_depth(i % 32, &address) != 0;
    failed += cuLaunchKernel(0x77, 1, 1, 1, 32, 1, 1, 0, 0, nullptr, nullptr) != 0;
    failed += cuMemFree_v2(address) != 0;
  }
  std::printf("failed %u\n", failed);
  return 0;
}

// The same by a thread that made its first call when another one had.
int beside(unsigned count) {
  u64 first = 0;
  if (cuMemAlloc_v2(&first, 16) != 0 || cuMemFree_v2(first) != 0) return 1;
  int result = 1;
  std::thread([&] { result = many(count); }).join();
  return result;
}

// When the program has opened all files that it may.
int without_files(unsigned count) {
  u64 first = 0;
  if (cuMemAlloc_v2(&first, 16) != 0 || cuMemFree_v2(first) != 0) return 1;
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NOFILE, &none) != 0) return 1;
  return many(count);
}

// Keeps blocks over all of that, and frees them at the end.
int kept(unsigned count) {
  static u64 blocks[500];
  unsigned failed = 0;
  for (u64& block : blocks) failed += cuMemAlloc_v2(&block, 256) != 0;
  failed += many(count) != 0;
  for (const u64 block : blocks) failed += cuMemFree_v2(block) != 0;
  return failed != 0 ? 1 : 0;
}

// A static runtime has a page of its own in each thread, at the upper end of its stack: of 16 KiB
// two are left.
alignas(4096) thread_local volatile char of_runtime[4096];

int tiny(unsigned count) {
  static unsigned failed = 0, pairs = 0;
  pairs = count;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN));
  pthread_t thread{};
  const auto work = [](void*) -> void* {
    of_runtime[0] = 1;
    for (unsigned i = 0; i < pairs; ++i) {
      u64 address = 0;
      failed += cuMemAlloc_v2(&address, 16) != 0;
      failed += cuMemFree_v2(address) != 0;
    }
    return nullptr;
  };
  failed += pthread_create(&thread, &attributes, work, nullptr) != 0;
  pthread_join(thread, nullptr);
  std::printf("failed %u\n", failed);
  return 0;
}

// ---- a handler that frees

constexpr unsigned kReserve = 1 << 13;
u64 reserve[kReserve];
std::atomic<unsigned> handled{0}, handler_failed{0};

void free_one(int) {
  const unsigned i = handled.load();
  if (i >= kReserve) return;
  if (cuMemFree_v2(reserve[i]) != 0) ++handler_failed;
  handled.store(i + 1);
}

int alarms(unsigned count, bool own_stack) {
  for (u64& address : reserve) {
    if (cuMemAlloc_v2(&address, 8) != 0) return 1;
  }
  static char stack[16384]; // the driver itself needs as much
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  if (own_stack) sigaltstack(&alternative, nullptr);
  struct sigaction action = {};
  action.sa_handler = free_one;
  action.sa_flags = SA_RESTART | (own_stack ? SA_ONSTACK : 0);
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 60}, {0, 60}};
  setitimer(ITIMER_REAL, &often, nullptr);
  unsigned failed = 0, done = 0;
  for (; handled < count && done < 3'000'000; ++done) {
    u64 address = 0;
    failed += at_depth(done % 32, &address) != 0;
    failed += cuMemFree_v2(address) != 0;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("pairs %u handled %u failed %u %u\n", done, handled.load(), failed,
              handler_failed.load());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 9;
  const std::string scene = argv[1];
  const unsigned size = static_cast<unsigned>(std::atoi(argv[2]));
  if (scene == "endless") return endless(size, false);
  if (scene == "leave") return endless(size, true);
  if (scene == "swap") return swap_blocks(size);
  if (scene == "short") return short_threads(size);
  if (scene == "many") return many(size);
  if (scene == "beside") return beside(size);
  if (scene == "without_files") return without_files(size);
  if (scene == "kept") return kept(size);
  if (scene == "tiny") return tiny(size);
  if (scene == "alarms") return alarms(size, false);
  if (scene == "alarms_own_stack") return alarms(size, true);
  return 9;
}
