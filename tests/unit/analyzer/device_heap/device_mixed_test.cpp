// SPDX-License-Identifier: Apache-2.0
// heap-mixed: the host's calls on the device heap, and frees in kernels of the host's memory.

#include "analyzer/base/text_format.h"
#include "tests/unit/analyzer/support/device_heap_fixture.h"

namespace gmt::test {
namespace {

TEST_F(DeviceHeapTest, HostCallsOnTheDeviceHeap) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  cuda_free(kP, 1);
  cuda_memcpy(kHost, kP + 8, 8, 1, Side::kHost, Side::kDevice);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .stack = {0x310}}, kP, 64);
  device.device_free({}, kP);
  run_device();
  // No invalid-free, copy-direction or api-error
  ASSERT_EQ(kinds(), "heap-mixed heap-mixed heap-mixed");
  std::string all;
  for (const ReportedFinding& f : result.findings) {
    all += f.message + "\n";
    EXPECT_EQ(f.stacks.size(), 3u);
    EXPECT_EQ(f.stacks[1].label, "allocated here");
  }
  EXPECT_NE(
    all.find("cudaFree of 0x205dff920, which is 64 bytes of the device heap allocated by malloc in "
             "step(int*); CUDA refused it."),
    std::string::npos);
  EXPECT_NE(
    all.find("cudaMemcpy from 0x205dff928, which is 8 bytes inside 64 bytes of the device heap"),
    std::string::npos);
  EXPECT_NE(
    all.find(
      "cudaMemset of 0x205dff920, which is 64 bytes of the device heap allocated by malloc in "
      "step(int*); CUDA accepted it silently."),
    std::string::npos);
}

TEST_F(DeviceHeapTest, HostCallsOnOtherMemoryAreLeftAlone) {
  run_kernel(kStep, 1);
  device.device_malloc({}, kP, 64);
  device.device_free({}, kP);
  cuda_malloc(kA, 64);
  log().set({.api = "cuMemsetD8_v2", .via = "cudaMemset", .stack = {0x310}}, kA, 64);
  cuda_free(kA);
  cuda_free(kB, 1);
  run_device();
  EXPECT_EQ(kinds(), "invalid-free");
}

TEST_F(DeviceHeapTest, FreeInAKernelOfTheHostsMemory) {
  cuda_malloc(kA, 4096);
  run_kernel(kStep, 1);
  device.device_free({}, kA);
  kill_context(700);
  run_device();
  const ReportedFinding* f = find("heap-mixed");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(find("device-heap-invalid-free"), nullptr);
  EXPECT_EQ(f->message,
            "free in step(int*) of 0x7f32a0000000, which is 4.0 KiB of device memory allocated by "
            "cudaMalloc; the context died.");
  EXPECT_NE(f->advice.find("cudaFree"), std::string::npos);
  EXPECT_EQ(labels(*f), "freed here|launched here|allocated here");
}

TEST_F(DeviceHeapTest, FreeInAKernelOfTheHostsMemoryThatCudaLetsPass) {
  cuda_malloc(kA, 4096);
  run_kernel(kStep, 1);
  device.device_free({}, kA);
  cuda_free(kA);
  run_device();
  ASSERT_EQ(kinds(), "heap-mixed");
  const ReportedFinding& f = result.findings[0];
  EXPECT_NE(f.message.find("allocated by cudaMalloc; CUDA did not notice."), std::string::npos);
  EXPECT_EQ(labels(f), "freed here|launched here|allocated here|freed by the host here");
}

// A block at 1 s, freed at 2 s; another at its address at 3 s. Clocks agree.
class HostCallAt : public DeviceHeapTest {
protected:
  static constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;
  std::string block_at(std::uint64_t milliseconds) {
    trace.info.push_back(cat({"tsc=1000\nmonotonic_ns=0\nrealtime_ns=", std::to_string(kEpoch)}));
    trace.complete += "tsc=10001000\nmonotonic_ns=10000000\n";
    run_kernel(kStep, 1);
    device.device_malloc({.time = kEpoch + 1'000'000'000}, kP, 64);
    device.device_free({.time = kEpoch + 2'000'000'000}, kP);
    device.device_malloc({.time = kEpoch + 3'000'000'000}, kP, 128);
    device.device_free({.time = kEpoch + 4'000'000'000}, kP);
    log().set({.api = "cuMemsetD8_v2",
               .via = "cudaMemset",
               .stack = {0x310},
               .order = milliseconds * 1'000},
              kP, 8);
    run_device();
    const ReportedFinding* f = find("heap-mixed");
    return f == nullptr ? kinds() : f->message.substr(f->message.find("which is "), 18);
  }
};

TEST_F(HostCallAt, MeansTheBlockThatIsAliveThen) {
  EXPECT_EQ(block_at(1'500), "which is 64 bytes ");
}
TEST_F(HostCallAt, MeansTheBlockThatWasFreedBeforeRatherThanALaterOne) {
  EXPECT_EQ(block_at(2'900), "which is 64 bytes ");
}
TEST_F(HostCallAt, MeansTheNewestOfThem) { EXPECT_EQ(block_at(3'500), "which is 128 bytes"); }
TEST_F(HostCallAt, MeansTheOneFreedLast) { EXPECT_EQ(block_at(4'500), "which is 128 bytes"); }

// The device heap of a context's next life lies where it did.
class HostCallInLife : public DeviceHeapTest {
protected:
  void run_lives() {
    run_kernel(kStep, 1);
    device.device_malloc({}, kP, 64);
    device.device_malloc({}, kQ, 64);
    cuda_free(kP, 1, 0x210);
    log().life({.api = "cuDevicePrimaryCtxReset_v2", .via = "cudaDeviceReset", .stack = {0x700}}, 0,
               trace::ObjectClass::kPrimaryContext, trace::LifeOp::kReset);
    second.site(2, "clean", "/src/clean.cu", 20);
    launch(kClean, 4, 64);
    second.grid(1, 4, 64);
    second.device_malloc({.grid = 1, .site = 2}, kP, 128);
    second.device_malloc({.grid = 1, .site = 2}, kQ + 4096, 128);
    cuda_free(kP, 1, 0x220);
    cuda_free(kQ, 1, 0x230);
    second.drained();
    std::filesystem::create_directories(directory.path() / "trace");
    second.write(directory.path() / "trace", "device-1");
    run_device();
  }
  std::string freed_from(std::uint64_t address) {
    for (const ReportedFinding& f : result.findings) {
      if (f.kind != "heap-mixed" || address_of(f.stacks[0]) != address) continue;
      return f.message.substr(f.message.find("which is "),
                              f.message.find(" of the") - f.message.find("which is ")) +
             " by " + f.stacks[1].frames.at(0).file;
    }
    return kinds();
  }
  DeviceLogWriter second;
};

TEST_F(HostCallInLife, MeansTheBlocksOfThatLife) {
  run_lives();
  EXPECT_EQ(freed_from(0x210), "which is 64 bytes by /src/step.cu");
  EXPECT_EQ(freed_from(0x220), "which is 128 bytes by /src/clean.cu");
}

TEST_F(HostCallInLife, MeansAnEarlierLifesBlockIfItsOwnHasNone) {
  run_lives();
  EXPECT_EQ(freed_from(0x230), "which is 64 bytes by /src/step.cu");
}

} // namespace
} // namespace gmt::test
