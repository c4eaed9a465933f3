// SPDX-License-Identifier: Apache-2.0
// The host uses an address of device memory, and the system ends the program. The interposer's handler changes neither
// status nor what the program's own handlers see. A signal that was sent is no such mistake, and neither is a null
// pointer.
//
// run: read
// exit: signal 11
// expect: error device-pointer count=1 bytes=64 message="The host reads" stacks="accessed here"@read_it:LINE(read),"allocated here"@main:LINE(block)
// not-checked: leak
// run: write
// exit: signal 11
// expect: error device-pointer count=1 bytes=64 message="The host writes to" stacks="accessed here"@write_it:LINE(write),"allocated here"@main:LINE(block)
// not-checked: leak
// run: freed-pinned
// device: simulated
// exit: signal 11
// expect: error use-after-free count=1 message="memory that was already freed" stacks="accessed here"@read_it:LINE(read),"freed here"@main:LINE(unpinned),"allocated here"@main:LINE(pinned)
// run: advice
// expect: clean
// run: null
// exit: signal 11
// expect: clean
// not-checked: leak
// run: sent
// exit: signal 11
// expect: clean
// not-checked: leak
// run: own-handler-before
// exit: 7
// expect: error leak count=1 stacks="allocated here"@main:LINE(block)
// run: own-handler-after
// exit: 7
// expect: error leak count=1 stacks="allocated here"@main:LINE(block)
// run: chained
// exit: signal 11
// expect: error device-pointer count=1 message="The host reads" stacks="accessed here"@read_it:LINE(read),"allocated here"@main:LINE(block)
// not-checked: leak
// run: put-back
// exit: signal 11
// expect: clean
// not-checked: leak
#include "answers.h"

#include <csignal>
#include <unistd.h>

#include <string_view>

static volatile int result;
static struct sigaction before;

__attribute__((noinline)) static void read_it(const volatile int* from) { result = from[2]; } // @read
__attribute__((noinline)) static void write_it(volatile int* to) { to[2] = 1; } // @write

static void leave(int) { _exit(7); }

// As a crash reporter does: it passes the signal on to the handler before it.
static void pass_on(int number, siginfo_t*, void*) { (void)sigaction(number, &before, nullptr); }

static void install(void (*handler)(int, siginfo_t*, void*))
{
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGSEGV, &action, &before));
}

int main(int argc, char** argv)
{
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "advice") { // copied, and allocated with cudaMallocManaged
    int *block = nullptr, *managed = nullptr, copied[16];
    CHECK(cudaMalloc(&block, 64));
    TOUCH(block, 64);
    CHECK(cudaMemcpy(copied, block, 64, cudaMemcpyDeviceToHost));
    CHECK(cudaMallocManaged(&managed, 64));
    TOUCH(managed, 64);
    CHECK(cudaDeviceSynchronize());
    read_it(copied);
    read_it(managed);
    CHECK(cudaFree(managed));
    CHECK(cudaFree(block));
    return 0;
  }
  if (word == "freed-pinned") {
    int* pinned = nullptr;
    CHECK(cudaMallocHost(&pinned, 8 << 20)); // @pinned
    CHECK(cudaFreeHost(pinned));             // @unpinned
    read_it(pinned);
  }
  if (word == "own-handler-before") (void)std::signal(SIGSEGV, leave);
  int* block = nullptr;
  CHECK(cudaMalloc(&block, 64)); // @block
  TOUCH(block, 64);
  CHECK(cudaDeviceSynchronize());
  if (word == "own-handler-after") (void)std::signal(SIGSEGV, leave);
  if (word == "chained") install(pass_on);
  if (word == "put-back") {
    auto* const old = std::signal(SIGSEGV, leave);
    (void)std::signal(SIGSEGV, old); // without the flags that it had
  }
  if (word == "sent") (void)std::raise(SIGSEGV);
  if (word == "write") write_it(block);
  read_it(word == "null" ? nullptr : block);
}
