// SPDX-License-Identifier: Apache-2.0
// What a hooked call does between the program and the driver: it forwards arguments and answers as
// they are, and its record says what was called, in which order, and how it ended. The driver's
// functions are the test's own.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csetjmp>

#include "interposer/calls/call.h"
#include "interposer/hooks/dlsym_hook.h"
#include "interposer/loader/real_dlsym.h"
#include "interposer/loader/rows.h"
#include "tests/unit/interposer/support/recorded.h"
#include "trace/api_id.h"

namespace gmt::interposer {

constinit const SessionParts session_parts{nullptr, 0};

namespace {

using trace::Kind;

constexpr std::uint64_t kAddress = 0x7f1234560000;
constexpr std::uint16_t kAllocRow = trace::kApi_cuMemAlloc_v2, kFreeRow = trace::kApi_cuMemFree_v2;

// What the driver was given, and what it answers.
struct Driver {
  std::size_t bytes = 0;
  CUdeviceptr freed = 0;
  CUresult answer = CUDA_SUCCESS;
  int error = 0; // errno, if it is to be set
  std::uint64_t orders_given = 0, order_of_call = 0;
  bool is_inside = false;
  std::uint16_t result_meanwhile = 0;
  void (*inside)() = nullptr;
};
Driver driver;

CUresult done() {
  driver.orders_given = Process::current_order();
  driver.order_of_call = order_of_call_in_progress();
  driver.is_inside = is_inside_call(__builtin_frame_address(0));
  if (driver.inside != nullptr) driver.inside();
  if (driver.error != 0) errno = driver.error;
  return driver.answer;
}
CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  driver.bytes = bytes;
  if (driver.answer == CUDA_SUCCESS) *address = kAddress;
  return done();
}
CUresult release(CUdeviceptr address) {
  driver.freed = address;
  return done();
}
CUresult set_bytes(CUdeviceptr, unsigned char, std::size_t, CUstream) { return done(); }

template <class Function> Function* entry(std::uint16_t row, Function* real) {
  driver_forwards[row].store(reinterpret_cast<void*>(real));
  return reinterpret_cast<Function*>(entry_of(row));
}

class InterposerEntries : public RecordedTest {
protected:
  InterposerEntries() { driver = {}; }
  decltype(&allocate) allocate_ = entry(kAllocRow, allocate);
  decltype(&release) release_ = entry(kFreeRow, release);
};

TEST_F(InterposerEntries, AnAllocationIsForwardedAndRecorded) {
  CUdeviceptr address = 0;
  EXPECT_EQ(allocate_(&address, 4096), CUDA_SUCCESS);
  EXPECT_EQ(address, kAddress);
  EXPECT_EQ(driver.bytes, 4096u);
  const Recorded record = only(Kind::kAlloc);
  const trace::AllocView view(record);
  EXPECT_EQ(record.head.api, kAllocRow);
  EXPECT_EQ(record.head.result, 0);
  EXPECT_EQ(record.via, trace::kNoApi);
  EXPECT_EQ(view.address(), kAddress);
  EXPECT_EQ(view.bytes(), 4096u);
  EXPECT_EQ(view.memory_kind(), trace::MemoryKind::kDevice);
}

TEST_F(InterposerEntries, AllocationsAreOrderedAfterTheCallAndReleasesBefore) {
  CUdeviceptr address = 0;
  allocate_(&address, 1);
  EXPECT_GT(only(Kind::kAlloc).order, driver.orders_given);
  EXPECT_EQ(driver.order_of_call, 0u) << "it has none yet";
  release_(address);
  const Recorded freed = only(Kind::kFree);
  EXPECT_LE(freed.order, driver.orders_given);
  EXPECT_EQ(freed.order, driver.order_of_call);
  EXPECT_EQ(driver.freed, kAddress);
  EXPECT_EQ(trace::FreeView(freed).address(), kAddress);
}

TEST_F(InterposerEntries, ARefusedCallsAnswerIsPassedOnAndItsOutputNotRead) {
  driver.answer = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(allocate_(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  const Recorded record = only(Kind::kAlloc);
  EXPECT_EQ(record.head.result, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(trace::AllocView(record).address(), 0u);
  EXPECT_EQ(trace::AllocView(record).bytes(), 16u);
}

TEST_F(InterposerEntries, ACallIsInFlightWhileTheDriverRuns) {
  release_(kAddress); // the thread has a log from now on
  SetUp();
  driver.inside = [] {
    for (const Recorded& record : all_records()) driver.result_meanwhile = record.head.result;
  };
  release_(kAddress);
  EXPECT_EQ(driver.result_meanwhile, trace::kResultInFlight);
  EXPECT_TRUE(driver.is_inside);
  EXPECT_EQ(only(Kind::kFree).head.result, 0);
  EXPECT_FALSE(is_inside_call(__builtin_frame_address(0)));
  EXPECT_EQ(order_of_call_in_progress(), 0u);
}

TEST_F(InterposerEntries, ErrnoIsTheDrivers) {
  errno = EAGAIN;
  release_(kAddress);
  EXPECT_EQ(errno, EAGAIN);
  driver.error = ENOENT;
  release_(kAddress);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(InterposerEntries, TheNullStreamOfAPerThreadRowIsStream2) {
  const auto plain = entry(trace::kApi_cuMemsetD8Async, set_bytes);
  const auto per_thread = entry(trace::kApi_cuMemsetD8Async_ptsz, set_bytes);
  CUstream own = reinterpret_cast<CUstream>(0x77);
  plain(kAddress, 1, 8, nullptr);
  per_thread(kAddress, 1, 8, nullptr);
  per_thread(kAddress, 1, 8, own);
  const std::vector<Recorded> sets = fresh(Kind::kSet);
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(trace::SetView(sets[0]).stream(), 0u);
  EXPECT_EQ(trace::SetView(sets[1]).stream(), 2u);
  EXPECT_EQ(trace::SetView(sets[2]).stream(), 0x77u);
}

TEST_F(InterposerEntries, WhatTheDriverCallsItselfIsNotRecorded) {
  driver.inside = [] {
    driver.inside = nullptr;
    driver_bytes.store(~std::uint64_t{0}); // all code is the driver's
    reinterpret_cast<decltype(&release)>(entry_of(kFreeRow))(kAddress + 1);
    driver_bytes.store(0);
  };
  CUdeviceptr address = 0;
  allocate_(&address, 1);
  EXPECT_EQ(driver.freed, kAddress + 1) << "it ran";
  EXPECT_TRUE(fresh(Kind::kFree).empty());
  EXPECT_EQ(fresh(Kind::kAlloc).size(), 1u);
}

TEST_F(InterposerEntries, TheDriversFunctionsAreTranslatedAndOthersAreNot) {
  EXPECT_EQ(route_driver_pointer(reinterpret_cast<void*>(&allocate)), entry_of(kAllocRow));
  EXPECT_EQ(route_driver_pointer(reinterpret_cast<void*>(&done)), reinterpret_cast<void*>(&done));
  EXPECT_EQ(row_named("cuMemAlloc_v2"), kAllocRow);
  EXPECT_EQ(row_named("cuMemAlloc_v"), -1);
  EXPECT_EQ(row_named(""), -1);
}

// ---- the runtime's calls, by the stubs that are handed out for its functions' names

cudaError_t runtime_answer = cudaSuccess;
bool calls_driver = true;

cudaError_t runtime_malloc(void** pointer, std::size_t bytes) {
  CUdeviceptr address = 0;
  if (calls_driver) reinterpret_cast<decltype(&allocate)>(entry_of(kAllocRow))(&address, bytes);
  *pointer = reinterpret_cast<void*>(address);
  return runtime_answer;
}

class InterposerRuntimeEntries : public InterposerEntries {
protected:
  InterposerRuntimeEntries() {
    runtime_answer = cudaSuccess;
    calls_driver = true;
    EXPECT_TRUE(adopt_runtime_function(kRow, reinterpret_cast<void*>(&runtime_malloc)));
  }
  static constexpr std::uint16_t kRow = trace::kApi_cudaMalloc;
  decltype(&runtime_malloc) malloc_ = reinterpret_cast<decltype(&runtime_malloc)>(named_stub(kRow));
};

TEST_F(InterposerRuntimeEntries, LendTheirNameToTheDriversCall) {
  void* pointer = nullptr;
  EXPECT_EQ(malloc_(&pointer, 64), cudaSuccess);
  EXPECT_EQ(pointer, reinterpret_cast<void*>(kAddress));
  const Recorded record = only(Kind::kAlloc);
  EXPECT_EQ(record.head.api, kAllocRow);
  EXPECT_EQ(record.via, kRow);
  EXPECT_EQ(record.head.flags & trace::kFlagRuntime, 0);
  EXPECT_EQ(trace::AllocView(record).bytes(), 64u);
}

TEST_F(InterposerRuntimeEntries, HaveARecordIfTheRuntimeRefusesByItself) {
  calls_driver = false;
  runtime_answer = cudaErrorInvalidValue;
  void* pointer = nullptr;
  EXPECT_EQ(malloc_(&pointer, 64), cudaErrorInvalidValue);
  const Recorded record = only(Kind::kAlloc);
  EXPECT_EQ(record.via, kRow);
  EXPECT_NE(record.head.flags & trace::kFlagRuntime, 0);
  EXPECT_EQ(record.head.result, cudaErrorInvalidValue);
}

TEST_F(InterposerRuntimeEntries, HaveNoneIfTheDriverFailed) {
  driver.answer = CUDA_ERROR_OUT_OF_MEMORY;
  runtime_answer = cudaErrorMemoryAllocation;
  void* pointer = nullptr;
  malloc_(&pointer, 64);
  const Recorded record = only(Kind::kAlloc);
  EXPECT_EQ(record.head.api, kAllocRow);
  EXPECT_EQ(record.head.result, CUDA_ERROR_OUT_OF_MEMORY);
}

std::jmp_buf out;

TEST_F(InterposerRuntimeEntries, ThatWereLeftByLongjmpLendNothing) {
  driver.inside = [] { std::longjmp(out, 1); };
  void* volatile pointer = nullptr;
  if (setjmp(out) == 0) malloc_(const_cast<void**>(&pointer), 64);
  SetUp();
  driver.inside = nullptr;
  CUdeviceptr address = 0;
  allocate_(&address, 32);
  const Recorded record = only(Kind::kAlloc);
  EXPECT_EQ(record.via, trace::kNoApi);
  EXPECT_EQ(trace::AllocView(record).bytes(), 32u);
}

} // namespace
} // namespace gmt::interposer
