// SPDX-License-Identifier: Apache-2.0
// Tests of GoogleTest, each in its NVTX range: one leaks, one frees twice, in a thread of its own.

#include <gpumemtrace/gtest.h>

#include <cstddef>
#include <thread>

#include <cuda_runtime_api.h>

namespace {

const bool has_ranges = gpumemtrace::add_test_ranges();

void* allocated(std::size_t bytes) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  return memory;
}

TEST(Memory, IsFreed) {
  EXPECT_TRUE(has_ranges);
  EXPECT_EQ(cudaFree(allocated(100)), cudaSuccess);
}

TEST(Memory, Leaks) { EXPECT_NE(allocated(4096), nullptr); }

class Sizes : public testing::TestWithParam<int> {};

TEST_P(Sizes, AreFreed) {
  EXPECT_EQ(cudaFree(allocated(static_cast<std::size_t>(GetParam()))), cudaSuccess);
}
INSTANTIATE_TEST_SUITE_P(Some, Sizes, testing::Values(1, 2));

TEST(Threads, FreeTwice) {
  std::thread([] {
    void* memory = allocated(512);
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    EXPECT_NE(cudaFree(memory), cudaSuccess);
  }).join();
}

} // namespace
