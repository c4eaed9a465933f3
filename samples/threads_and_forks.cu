// SPDX-License-Identifier: Apache-2.0
// Eight threads allocate blocks and pass them on: each frees what its neighbour allocated. Meanwhile a child process,
// started by fork and exec, does its own work on the device. One report covers both processes.
// Variants: clean (or no word); child-leak: the child forgets its block; thread-leak: one thread frees nothing.
//
// run:
// expect: clean
// processes: 2
// run: clean
// expect: clean
// processes: 2
// run: child-leak
// expect: error leak bytes=12288 count=1 stacks="allocated here"@work_as_child:LINE(alloc-child)
// processes: 2
// run: thread-leak
// expect: error leak bytes=65536 count=16 stacks="allocated here"@fill_mailbox:LINE(alloc-thread)
// processes: 2
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call) do { if (cudaError_t r = (call)) { std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
  cudaGetErrorString(r)); std::exit(1); } } while (0)

constexpr int kThreads = 8;
constexpr int kBlocksEach = 16;
constexpr size_t kBlockBytes = 4096;

using Mailbox = std::vector<void*>;

static void fill_mailbox(Mailbox& mailbox)
{
  for (int i = 0; i < kBlocksEach; ++i) {
    void* block = nullptr;
    CHECK(cudaMalloc(&block, kBlockBytes)); // @alloc-thread
    CHECK(cudaMemset(block, i, kBlockBytes));
    mailbox.push_back(block);
  }
}

static void empty_mailbox(Mailbox& mailbox)
{
  for (void* block : mailbox)
    CHECK(cudaFree(block));
}

static int work_as_child(bool leak)
{
  void* block = nullptr;
  CHECK(cudaMalloc(&block, 3 * kBlockBytes)); // @alloc-child
  CHECK(cudaMemset(block, 0, 3 * kBlockBytes));
  if (!leak)
    CHECK(cudaFree(block));
  return 0;
}

// Between fork and exec the child may call nothing of CUDA: a context does not survive a fork.
static pid_t start_child(const char* program, bool leak)
{
  pid_t child = fork();
  if (child == 0) {
    execl(program, program, leak ? "work-and-leak" : "work", static_cast<char*>(nullptr));
    _exit(127);
  }
  return child;
}

int main(int argc, char** argv)
{
  const char* variant = argc > 1 ? argv[1] : "clean";
  auto is = [&](const char* word) { return !std::strcmp(variant, word); };
  if (is("work") || is("work-and-leak"))
    return work_as_child(is("work-and-leak"));

  CHECK(cudaFree(nullptr)); // creates the context, so that the fork happens with CUDA at work
  pid_t child = start_child("/proc/self/exe", is("child-leak"));

  std::vector<Mailbox> mailboxes(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back(fill_mailbox, std::ref(mailboxes[i]));
  for (std::thread& thread : threads)
    thread.join();
  threads.clear();
  for (int i = 0; i < kThreads; ++i)
    if (i != 0 || !is("thread-leak"))
      threads.emplace_back(empty_mailbox, std::ref(mailboxes[(i + 1) % kThreads]));
  for (std::thread& thread : threads)
    thread.join();

  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "the child failed\n");
    return 1;
  }
  std::printf("%d blocks freed by other threads; the child is done\n", kThreads * kBlocksEach);
  return 0;
}
