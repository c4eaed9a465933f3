// SPDX-License-Identifier: Apache-2.0
// Advice on kernels' faults follows from the evidence: each cause has its own, and none says what
// would be wrong for it.
#include "tests/unit/analyzer/detectors/kernels/faults_fixture.h"

namespace gmt::test {
namespace {

class FaultAdvice : public Faults {
protected:
  // Of an access of 4 bytes in a grid of 4 x 256 threads.
  const ReportedFinding& access(FaultKind kind, std::uint64_t address, std::uint64_t count = 24,
                                FaultSpace space = FaultSpace::kGlobal) {
    MadeFault f;
    fault(f, kind, launch())
      .address(address)
      .bytes(4)
      .space(space)
      .access(FaultAccess::kStore)
      .grid({4, 1, 1})
      .block({256, 1, 1})
      .count(count);
    add(f);
    return only();
  }
  const ReportedFinding& race(trace::Index3 other, std::uint32_t threads, const char* other_line) {
    MadeFault f;
    fault(f, FaultKind::kSharedRace, launch())
      .space(FaultSpace::kShared)
      .access(FaultAccess::kLoad)
      .bytes(4)
      .block({threads, 1, 1})
      .thread_index({1, 0, 0})
      .other_lines(log().text(other_line))
      .other_access(FaultAccess::kStore)
      .other_thread_index(other);
    add(f, trace::kFaultHasThread | trace::kFaultHasAddress | trace::kFaultHasOther |
             trace::kFaultOtherHasThread);
    return only();
  }
  static bool says(const ReportedFinding& f, const char* words) {
    return f.advice.find(words) != std::string::npos;
  }
};

TEST_F(FaultAdvice, TheTailOfTheLastBlock) {
  EXPECT_TRUE(says(access(FaultKind::kOutOfBounds, kA + 4000), "if (i < n)"));
}

TEST_F(FaultAdvice, OneElementTooFar) {
  EXPECT_TRUE(says(access(FaultKind::kOutOfBounds, kA + 4000, 1), "compare with <"));
}

TEST_F(FaultAdvice, FarBehindTheEnd) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, kA + 4000 + 40000);
  EXPECT_TRUE(says(f, "counts elements, not bytes, and is 10000 elements") ||
              says(f, "10,000 elements"));
}

TEST_F(FaultAdvice, BeforeTheBeginning) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, kA - 8);
  EXPECT_TRUE(says(f, "no index be below 0: this one is 2 elements before the first"));
}

TEST_F(FaultAdvice, ANullPointer) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, 0);
  EXPECT_NE(f.message.find("at 0x0, in no memory that CUDA gave out: the pointer is null."),
            std::string::npos);
  EXPECT_TRUE(says(f, "never set"));
  EXPECT_FALSE(says(f, "index"));
}

TEST_F(FaultAdvice, BeforeANullPointer) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, ~std::uint64_t{0} - 3);
  EXPECT_NE(f.message.find("4 bytes before a null pointer"), std::string::npos);
}

TEST_F(FaultAdvice, HostMemory) {
  trace.info.push_back("heap_begin=" + std::to_string(kHost));
  trace.info.push_back("heap_end=" + std::to_string(kHost + kMiB));
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, kHost);
  EXPECT_NE(f.message.find("it is ordinary memory of the host"), std::string::npos);
  EXPECT_TRUE(says(f, "the device's copy"));
}

TEST_F(FaultAdvice, ASignedIndexOverflowed) {
  constexpr std::uint64_t kLarge = 0x7f4000000000, kBytes = 0x7fffff00;
  cuda_malloc(kLarge, kBytes, 0x102);
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, kLarge - (std::uint64_t{1} << 31));
  EXPECT_NE(f.message.find("; 2^32 elements of 1 byte later it would be 256 bytes past the end of "
                           "2.0 GiB of device memory allocated by cudaMalloc: a 32-bit index has "
                           "overflowed."),
            std::string::npos)
    << f.message;
  EXPECT_TRUE(says(f, "64 bits"));
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
}

TEST_F(FaultAdvice, AnUnsignedIndexWasBelowZero) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, kA - 4 + (std::uint64_t{1} << 32) * 4);
  EXPECT_NE(f.message.find("an unsigned 32-bit index was below 0"), std::string::npos) << f.message;
  EXPECT_TRUE(says(f, "4,294,967,295"));
}

TEST_F(FaultAdvice, AnAddressAnywhereIsNoOverflow) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, 0x123456789000);
  EXPECT_NE(f.message.find("in no memory that CUDA gave out."), std::string::npos);
  EXPECT_TRUE(says(f, "where the pointer comes from"));
}

TEST_F(FaultAdvice, DynamicSharedMemoryWithoutASize) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(16)
    .bytes(4)
    .space(FaultSpace::kShared)
    .access(FaultAccess::kStore)
    .neighbour_space(FaultSpace::kShared)
    .neighbour_name(log().text("tile"));
  add(f);
  EXPECT_EQ(only().message,
            "fill(float*, int) writes 4 bytes of shared memory at offset 16, in the "
            "array tile, for which the launch gave 0 bytes.");
  EXPECT_TRUE(says(result.findings[0], "third launch parameter"));
}

TEST_F(FaultAdvice, AnArrayOfAFunction) {
  const ReportedFinding& f = access(FaultKind::kOutOfBounds, 80, 1, FaultSpace::kLocal);
  EXPECT_TRUE(says(f, "the array of the function"));
}

TEST_F(FaultAdvice, AnotherThreadsVariable) {
  MadeFault f;
  fault(f, FaultKind::kOutOfBounds, launch())
    .address(0x1010000000010)
    .bytes(4)
    .space(FaultSpace::kGlobal)
    .access(FaultAccess::kLoad)
    .neighbour(0x1010000000000)
    .neighbour_bytes(std::uint64_t{1} << 32)
    .neighbour_space(FaultSpace::kLocal);
  add(f);
  EXPECT_NE(only().message.find("in no memory that CUDA gave out: it is local memory"),
            std::string::npos);
  EXPECT_TRUE(says(result.findings[0], "outlive it"));
}

TEST_F(FaultAdvice, UnwrittenSharedMemoryIsNotForCudaMemset) {
  const ReportedFinding& f = access(FaultKind::kUninitializedRead, 16, 1, FaultSpace::kShared);
  EXPECT_FALSE(says(f, "cudaMemset"));
  EXPECT_TRUE(says(f, "__syncthreads()"));
}

TEST_F(FaultAdvice, PaddingOfPitchedMemoryIsNotForCudaMemset) {
  log().alloc({.api = "cuMemAllocPitch_v2", .via = "cudaMallocPitch", .stack = {0x103}},
              MemoryKind::kPitched, kB, 512 * 8, 0, {512, 400, 8, 1, 4});
  const ReportedFinding& f = access(FaultKind::kUninitializedRead, kB + 512 + 404);
  EXPECT_FALSE(says(f, "cudaMemset"));
  EXPECT_TRUE(says(f, "padding between two rows: let the kernel read 400 bytes"));
}

TEST_F(FaultAdvice, RacesWithinAWarp) {
  const ReportedFinding& f = race({9, 0, 0}, 128, "9\t\tsrc/fill.cu");
  EXPECT_TRUE(says(f, "Put __syncwarp() between the two accesses if only one warp"));
  EXPECT_FALSE(says(f, "atomic"));
}

TEST_F(FaultAdvice, RacesOfABlockOfOneWarp) {
  const ReportedFinding& f = race({9, 0, 0}, 32, "9\t\tsrc/fill.cu");
  EXPECT_FALSE(says(f, "__syncthreads()"));
}

TEST_F(FaultAdvice, RacesOfSeveralWarps) {
  const ReportedFinding& f = race({40, 0, 0}, 128, "8\t\tsrc/fill.cu");
  EXPECT_FALSE(says(f, "__syncwarp()"));
  EXPECT_TRUE(says(f, "atomicAdd")); // both sides on one line
}

TEST_F(FaultAdvice, AMisalignedParameter) {
  trace.info.push_back("device=simulated");
  const std::uint64_t order = trace.next_order();
  log().record(Kind::kLaunch,
               {.api = "cuLaunchKernel",
                .via = "cudaLaunchKernel",
                .stack = {0x400},
                .order = order,
                .flags = trace::kLaunchScanned},
               {kFaulty, 0, trace::pack_grid({4, 1, 1}), trace::pack_block_extents({256, 1, 1}),
                trace::argument_word(kA + 4, 1)});
  MadeFault f;
  fault(f, FaultKind::kMisaligned, order).address(kA + 20).bytes(16).access(FaultAccess::kLoad);
  add(f);
  EXPECT_EQ(only().message,
            "fill(float*, int) reads 16 bytes at 0x7f32a0000014, which is no multiple of 16, 20 "
            "bytes into 3.9 KiB of device memory allocated by cudaMalloc; parameter 2 of its "
            "launch, 0x7f32a0000004, is none itself.");
  EXPECT_TRUE(says(result.findings[0], "Give the launch a pointer that is a multiple of 16"));
}

} // namespace
} // namespace gmt::test
