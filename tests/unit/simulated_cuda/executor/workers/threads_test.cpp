// SPDX-License-Identifier: Apache-2.0
// The threads themselves: when there are any, what they inherit, and what a child of fork() has.
#include "tests/unit/simulated_cuda/executor/workers/worker_kernel.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <filesystem>

namespace gmt::executor {
namespace {

std::ptrdiff_t threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class WorkersThreads : public KernelRunner {
protected:
  // Counts in %x0, long enough that every worker has blocks.
  static std::string counting() {
    return worker_kernel("mov.u32 %r4, 0; A: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 300;\n"
                         "@%p1 bra A; red.global.add.u32 [%x0], 1;");
  }
};

TEST_F(WorkersThreads, StartWithALongLaunchAndStay) {
  load(counting());
  const std::uint64_t at = put(std::vector<std::uint32_t>(1));
  const std::ptrdiff_t before = threads();
  alone_instructions_ = 10000;
  workers_ = 3;
  run({1}, {32}, {at, 0});
  run({4}, {32}, {at, 0});
  workers_ = 1;
  run({200}, {128}, {at, 0});
  EXPECT_EQ(threads(), before) << "short launches, and those of one worker, need no thread";
  workers_ = 3;
  for (int i = 0; i < 10; ++i) run({200}, {128}, {at, 0});
  EXPECT_LE(threads(), std::max<std::ptrdiff_t>(before, 3) + 2) << "they serve all launches";
  EXPECT_GT(threads(), 1);
  EXPECT_EQ(get<std::uint32_t>(at, 1)[0], 5u * 32 + 11 * 200 * 128);
}

TEST_F(WorkersThreads, RoundAsAGpuWhateverTheProgramHasSet) {
  load(worker_kernel(".reg .f32 %f<4>; mul.wide.u32 %x4, %r3, 4; add.u64 %x5, %x0, %x4;\n"
                     "mov.f32 %f1, 0f00000123; add.f32 %f2, %f1, %f1; st.global.f32 [%x5], %f2;"));
  const std::uint64_t at = put(std::vector<std::uint32_t>(64 * 32));
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040 | 0x6000); // flush denormals, round towards zero
  const unsigned changed = _mm_getcsr();
  workers_ = 2;
  run({64}, {32}, {at, 0});
  EXPECT_EQ(_mm_getcsr() & 0xffc0u, changed & 0xffc0u) << "the program keeps its own";
  _mm_setcsr(saved);
  for (const std::uint32_t each : get<std::uint32_t>(at, 64 * 32)) ASSERT_EQ(each, 0x246u);
}

TEST_F(WorkersThreads, AChildOfForkStartsItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer lets no child start threads";
#endif
  load(counting());
  const std::uint64_t at = put(std::vector<std::uint32_t>(1));
  workers_ = 2;
  run({100}, {32}, {at, 0});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Outcome outcome = run({100}, {32}, {at, 0});
    const bool is_right = outcome.end == End::kDone && get<std::uint32_t>(at, 1)[0] == 6400;
    _exit(is_right && threads() == 2 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(run({100}, {32}, {at, 0}).end, End::kDone);
}

} // namespace
} // namespace gmt::executor
