// SPDX-License-Identifier: Apache-2.0
// Faults of GPUs' core dumps whose address is lost, or of which the lower half is left: the memory
// that the launch was given.

#include <sstream>

#include "tests/unit/analyzer/detectors/kernels/dumps_fixture.h"

namespace gmt::test {
namespace {

TEST_F(Dumps, LostAddressesAreNotNamed) {
  launch();
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_NE(f.message.find("no address of it is recorded"), std::string::npos);
  EXPECT_FALSE(f.address);
}

// The warp that faulted is gone: what the launch was given is all that is known.
TEST_F(Dumps, TheOnlyMemoryOfALaunchIsNamed) {
  launch_with({kA + 16});
  cuda_free(kA);
  const ReportedFinding& f = only(fault(14, "processor", kStore));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_NE(
    f.message.find("; the only memory that its launch was given is 3.9 KiB of device memory "
                   "allocated by cudaMalloc."),
    std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_FALSE(f.address);
}

TEST_F(Dumps, SeveralBlocksOfALaunchAreCandidates) {
  cuda_malloc(kB, 4000, 0x101);
  launch_with({kA, kB, kA + 8});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_NE(f.message.find("; its launch was given 2 blocks of memory and may have left any of "
                           "them."),
            std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here|allocated here");
}

// As a field of a structure, which alone would be a warning.
TEST_F(Dumps, FreedMemoryThatTheLaunchWasGivenIsACandidate) {
  cuda_malloc(kB, 4000, 0x101);
  cuda_free(kB, 0, 0x201);
  launch_with({kA, kB + 8});
  const ReportedFinding& f = only(fault(14, "warp", "load\tglobal\t4"));
  EXPECT_NE(f.message.find("; the only live memory that its launch was given is 3.9 KiB of device "
                           "memory allocated by cudaMalloc; its launch was given a pointer into "
                           "memory that was already freed: 3.9 KiB of device memory allocated by "
                           "cudaMalloc."),
            std::string::npos)
    << f.message;
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here|allocated here");
}

// Loads overwrite a register of their address. The heap says which memory the other half fits to.
class HalfAddresses : public Dumps {
protected:
  static std::string halves(std::uint64_t first, std::uint64_t step = 4) {
    std::ostringstream text;
    text << "low-halves\t1\t0\t0\t0\t32\t" << std::hex << (first & UINT32_MAX) << std::dec << '\t'
         << step << '\n';
    return text.str();
  }
  const ReportedFinding& load(const std::string& lanes) {
    return only(fault(14, "warp", "load\tglobal\t4", lanes));
  }
};

TEST_F(HalfAddresses, MemoryThatAloneFitsIsNamed) {
  cuda_malloc(kB, 4000, 0x101);
  launch_with({kA, kB});
  const ReportedFinding& f = load(halves(kA + 4000 - 64));
  EXPECT_EQ(f.kind, "kernel-out-of-bounds");
  EXPECT_EQ(f.message,
            "fill(float*, int) reads 4 bytes, most likely right behind the end of 3.9 KiB of "
            "device memory allocated by cudaMalloc: its address ends in a0000fa0, which fits "
            "no other memory that the launch was given.");
  EXPECT_EQ(labels(f), "accessed here|launched here|allocated here");
  EXPECT_EQ(f.count, 16u);
  EXPECT_FALSE(f.address);
  EXPECT_NE(f.advice.find("the load overwrote the register that held the rest"), std::string::npos);
}

TEST_F(HalfAddresses, FreedMemoryOfTheLaunch) {
  cuda_malloc(kB, 4000, 0x101);
  cuda_free(kB, 0, 0x201);
  launch_with({kA, kB + 8});
  const ReportedFinding& f = load(halves(kB + 8));
  EXPECT_EQ(f.kind, "kernel-use-after-free");
  EXPECT_EQ(labels(f), "accessed here|launched here|freed here|allocated here");
}

// It may as well be inside of that.
TEST_F(HalfAddresses, LiveMemoryThatFitsIsNoMistake) {
  launch_with({kA});
  EXPECT_EQ(load(halves(kA + 64)).kind, "kernel-fault");
}

TEST_F(HalfAddresses, TwoBlocksThatFitAreCandidates) {
  const std::uint64_t twin = kA + (std::uint64_t{1} << 32);
  cuda_malloc(twin, 4000, 0x101);
  launch_with({kA, twin});
  const ReportedFinding& f = load(halves(kA + 4096));
  EXPECT_EQ(f.kind, "kernel-fault");
  EXPECT_EQ(f.count, 1u);
}

TEST_F(HalfAddresses, OtherMemoryThanTheLaunchWasGiven) {
  launch_with({kA});
  EXPECT_EQ(load(halves(kA + (std::uint64_t{1} << 30))).kind, "kernel-fault");
}

TEST_F(HalfAddresses, OfTwoLaunchesNothingIsInferred) {
  launch_with({kA});
  launch(0x410);
  EXPECT_EQ(load(halves(kA + 4096)).kind, "kernel-fault");
}

// Of two launches one did it, and what it was given is not known.
TEST_F(Dumps, TwoCandidatesNameNoMemory) {
  launch_with({kA});
  launch(0x410);
  EXPECT_EQ(labels(only(fault(14, "warp", "load\tglobal\t4"))),
            "accessed here|launched here|launched here");
}

} // namespace
} // namespace gmt::test
