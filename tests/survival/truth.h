// SPDX-License-Identifier: Apache-2.0
// What a test program knows of its own calls, in a shared mapping that outlives it: per thread the
// calls that returned, written after each. The test compares it with the trace. Layout: 64 threads'
// rows of kRow words; word 0 is the thread id, word 1 the number of calls that returned, then one
// word a call: address, and result in the low byte (addresses of the stand-in are multiples of
// 4096), bit 8 set for a release.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

class Truth {
public:
  static constexpr unsigned kRow = 1 << 16;
  static constexpr unsigned kRows = 64;

  // The file named by GMT_TRUTH, of full size; null where there is none.
  static std::atomic<unsigned long long>* row(unsigned thread) {
    static std::atomic<unsigned long long>* const base = map();
    std::atomic<unsigned long long>* row = base + std::size_t{thread} * kRow;
    row[0].store(static_cast<unsigned long long>(syscall(SYS_gettid)));
    return row;
  }

  static void returned(std::atomic<unsigned long long>* row, unsigned long long address, int result,
                       bool release) {
    const unsigned long long count = row[1].load(std::memory_order_relaxed);
    if (count + 2 >= kRow) _exit(77); // the test is far slower than it should be
    const unsigned long long word =
      address | (release ? 256u : 0u) | static_cast<unsigned>(result & 0xff);
    row[2 + count].store(word, std::memory_order_relaxed);
    row[1].store(count + 1, std::memory_order_release);
  }

private:
  static std::atomic<unsigned long long>* map() {
    const int fd = open(std::getenv("GMT_TRUTH"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    constexpr std::size_t kBytes = sizeof(unsigned long long) * kRow * kRows;
    if (fd < 0 || ftruncate(fd, kBytes) != 0) std::abort();
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return static_cast<std::atomic<unsigned long long>*>(memory);
  }
};
