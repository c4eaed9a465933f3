// SPDX-License-Identifier: Apache-2.0
// Streams that wait for a value which another stream or the host brings later: their work, and what
// events put behind it, runs when it is there, and nothing else waits.
#include "cuda_support.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace {

class Waits : public testing::Test {
protected:
  Waits() {
    cudaStreamCreateWithFlags(&a_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b_, cudaStreamNonBlocking);
    cudaMallocHost(reinterpret_cast<void**>(&words_), 64);
    std::fill_n(words_, 16, 0u);
  }
  ~Waits() override {
    cudaStreamDestroy(a_);
    cudaStreamDestroy(b_);
    cudaFreeHost(words_);
  }
  CUdeviceptr at(int word) const { return reinterpret_cast<CUdeviceptr>(words_ + word); }
  void wait(cudaStream_t stream, int word, unsigned value) const {
    ASSERT_EQ(wait_(stream, at(word), value, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  }
  void write(cudaStream_t stream, int word, unsigned value) const {
    ASSERT_EQ(write_(stream, at(word), value, 0), CUDA_SUCCESS);
  }
  unsigned read(int word) const { return *static_cast<volatile unsigned*>(words_ + word); }
  cudaStream_t a_ = nullptr, b_ = nullptr;
  unsigned* words_ = nullptr;
  decltype(&::cuStreamWaitValue32) wait_ = DRIVER_FUNCTION(cuStreamWaitValue32);
  decltype(&::cuStreamWriteValue32) write_ = DRIVER_FUNCTION(cuStreamWriteValue32);
};

TEST_F(Waits, AnotherStreamBringsTheValue) {
  wait(a_, 0, 1);
  ASSERT_EQ(cudaMemsetAsync(words_ + 1, 1, 4, a_), cudaSuccess);
  write(a_, 2, 7);
  EXPECT_EQ(cudaStreamQuery(a_), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(b_), cudaSuccess);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 64), cudaSuccess) << "allocates while the other stream waits";
  EXPECT_EQ(read(1), 0u);
  write(b_, 0, 1);
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess);
  EXPECT_EQ(read(1), 0x01010101u);
  EXPECT_EQ(read(2), 7u);
  cudaFree(memory);
}

TEST_F(Waits, TheHostBringsItAndEventsPassItOn) {
  wait(a_, 0, 3);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, a_), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(b_, event), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(words_ + 1, 2, 4, b_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(read(1), 0u);
  std::thread host([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    *static_cast<volatile unsigned*>(words_) = 4;
  });
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(read(1), 0x02020202u);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  host.join();
  cudaEventDestroy(event);
}

// No call is needed: a host that polls for the result gets it.
TEST_F(Waits, ItRunsByItself) {
  wait(a_, 0, 1);
  wait(a_, 1, 1);
  write(a_, 2, 5);
  *static_cast<volatile unsigned*>(words_ + 1) = 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(read(2), 0u);
  *static_cast<volatile unsigned*>(words_) = 1;
  for (int i = 0; i < 5000 && read(2) != 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(read(2), 5u);
}

TEST_F(Waits, AValueThatIsThereIsNoWait) {
  write(b_, 0, 9);
  wait(a_, 0, 9);
  EXPECT_EQ(cudaStreamQuery(a_), cudaSuccess);
}

} // namespace
