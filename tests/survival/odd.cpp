// SPDX-License-Identifier: Apache-2.0
// Programs that do to themselves what programs do: end in every way, fork, close all descriptors,
// leave calls by longjmp, cancel threads, run on tiny stacks, load and unload plug-ins. The first
// argument names the scene.
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cuda_calls.h"
#include "forks.h"

namespace {

// ---- ends

int end(const std::string& way) {
  u64 address = 0;
  cuMemAlloc_v2(&address, 11);
  cuMemFree_v2(address);
  cuMemAlloc_v2(&address, 22);
  std::puts("about to end");
  std::fflush(stdout);
  if (way == "abort") std::abort();
  if (way == "segv") raise(SIGSEGV);
  if (way == "_exit") _exit(7);
  if (way == "_Exit") _Exit(7);
  if (way == "quick_exit") quick_exit(7);
  if (way == "exit") std::exit(7);
  if (way == "inside") cuCtxSynchronize(); // as STANDIN_SYNC says
  return 7;
}

// ---- descriptors

int descriptors() {
  pair(1);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  std::vector<int> files;
  for (unsigned i = 0; i < 20; ++i) { // take their numbers
    const int fd = open(("file" + std::to_string(i)).c_str(), O_RDWR | O_CREAT, 0600);
    if (write(fd, "mine", 4) != 4) return 1;
    files.push_back(fd);
  }
  for (unsigned i = 0; i < 20000; ++i) pair_at_depth(i % 40); // the log grows
  std::thread([] { pair(2); }).join();
  for (const int fd : files) {
    char text[8] = {};
    if (pread(fd, text, sizeof text, 0) != 4 || std::strcmp(text, "mine") != 0)
      std::puts("a file was written to");
    if (lseek(fd, 0, SEEK_CUR) != 4) std::puts("a position was moved");
  }
  std::printf("next descriptor %d\n", open("/dev/null", O_RDONLY) - files.back());
  return 0;
}

// ---- left calls

std::jmp_buf back;

__attribute__((noinline)) void deeper(unsigned depth) {
  volatile char room[256];
  room[1] = static_cast<char>(depth);
  if (depth == 0) return pair(9);
  deeper(depth - 1);
  room[0] = room[1];
}

int jump_out() {
  static int i = 0; // not in a register that setjmp would bring back
  for (; i < 50; ++i) {
    if (setjmp(back) == 0) {
      cuLaunchHostFunc(
        0,
        [](void*) {
          pair(8);
          std::longjmp(back, 1);
        },
        nullptr);
    }
    deeper(static_cast<unsigned>(i % 5));
  }
  return 0;
}

int throw_out() {
  for (int i = 0; i < 50; ++i) {
    try {
      cuLaunchHostFunc(0, [](void*) { throw 5; }, nullptr);
    } catch (int value) {
      if (value != 5) std::puts("another exception");
    }
    deeper(static_cast<unsigned>(i % 5));
  }
  return 0;
}

int cancel() { // STANDIN_SYNC=sleep: the thread is cancelled inside the driver
  for (int i = 0; i < 10; ++i) {
    pthread_t thread{};
    pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pair(1);
        cuCtxSynchronize();
        return nullptr;
      },
      nullptr);
    usleep(20000);
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    if (result != PTHREAD_CANCELED) std::puts("not cancelled");
  }
  for (int i = 0; i < 200; ++i) { // and anywhere else
    pthread_t thread{};
    pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        for (unsigned n = 0;; ++n) {
          pair_at_depth(n % 30);
          pthread_testcancel();
        }
      },
      nullptr);
    usleep(static_cast<useconds_t>(i * 7));
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  pair(2);
  return 0;
}

// ---- small stacks

// The very first call of the process too comes from the smallest stack there is.
int small_stacks() {
  for (int i = 0; i < 20; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN));
    pthread_t thread{};
    if (pthread_create(
          &thread, &attributes,
          [](void*) -> void* {
            u64 address = 0;
            cuMemAlloc_v2(&address, 16);
            cuMemFree_v2(address);
            return nullptr;
          },
          nullptr) != 0)
      return 1;
    pthread_join(thread, nullptr);
  }
  return 0;
}

// ---- plug-ins

// A destructor that stands behind ours: the thread's log is gone when it calls.
int late_calls() {
  static pthread_key_t key = 0;
  static int bad = 0;
  const auto again = [](void* round) { // the first round may come before ours, the second does not
    if (round == &key) {
      pthread_setspecific(key, &bad);
      return;
    }
    u64 address = 0;
    bad += cuMemAlloc_v2(&address, 32) != 0 ? 1 : 0;
    bad += cuMemFree_v2(address) != 0 ? 1 : 0;
  };
  pthread_key_create(&key, again);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread{};
    pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        u64 address = 0;
        bad += cuMemAlloc_v2(&address, 16) != 0 ? 1 : 0;
        bad += cuMemFree_v2(address) != 0 ? 1 : 0;
        pthread_setspecific(key, &key);
        return nullptr;
      },
      nullptr);
    pthread_join(thread, nullptr);
  }
  std::printf("bad %d\n", bad);
  return 0;
}

using Run = int (*)();

// The plug-in calls from its own code; other threads allocate meanwhile and find new stacks.
int plugin_loop(const char* path) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> busy;
  for (unsigned t = 0; t < 3; ++t) {
    busy.emplace_back([&stop, t] {
      for (unsigned i = t; !stop; ++i) pair_at_depth(i % 100);
    });
  }
  int bad = 0;
  for (unsigned i = 0; i < 100; ++i) {
    void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) return std::printf("%s\n", dlerror()), 1;
    bad += reinterpret_cast<Run>(dlsym(plugin, "run"))() != 0;
    dlclose(plugin);
    void* hole =
      // Another address next time
      mmap(nullptr, 4096 * (1 + i % 3), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hole == MAP_FAILED) return 1;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
  std::printf("bad %d\n", bad);
  return 0;
}

// What was opened by a relative path makes its first call from elsewhere.
int plugin_elsewhere(const char* path) {
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::printf("%s\n", dlerror()), 1;
  if (chdir("/") != 0) return 1;
  std::printf("result %d\n", reinterpret_cast<Run>(dlsym(plugin, "run"))());
  return 0;
}

// The plug-in's constructor waits for a thread that allocates from a stack never seen, while the
// loader's lock is held.
int waiting_constructor(const char* path) {
  pair(1);
  alarm(20);
  void* plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  std::printf("loaded %d\n", plugin != nullptr);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string scene = argc > 1 ? argv[1] : "";
  const char* more = argc > 2 ? argv[2] : "";
  if (scene == "end") return end(more);
  if (scene == "fork") return fork_plain();
  if (scene == "fork_then_threads") return fork_then_threads();
  if (scene == "fork_storm") return fork_storm();
  if (scene == "descriptors") return descriptors();
  if (scene == "longjmp") return jump_out();
  if (scene == "throw") return throw_out();
  if (scene == "cancel") return cancel();
  if (scene == "small_stacks") return small_stacks();
  if (scene == "late_calls") return late_calls();
  if (scene == "plugin_loop") return plugin_loop(more);
  if (scene == "plugin_elsewhere") return plugin_elsewhere(more);
  if (scene == "waiting_constructor") return waiting_constructor(more);
  return 9;
}
