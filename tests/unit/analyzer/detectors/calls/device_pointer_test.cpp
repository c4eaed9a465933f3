// SPDX-License-Identifier: Apache-2.0
// Crashes of the host's own code: those by an address of device memory are findings, others are
// not.
#include "tests/unit/analyzer/support/analysis_fixture.h"

namespace gmt::test {
namespace {

class DevicePointers : public AnalysisTest {
protected:
  void SetUp() override {
    trace.format = "1.5";
    trace.complete = "how=signalled\nsignal=11\n";
    expect_only({"device-pointer"});
    cuda_malloc(kA, 64);
  }
  std::string kinds_of(const std::string& crash) {
    trace.info.push_back("crash=" + crash);
    run();
    return kinds();
  }
};

TEST_F(DevicePointers, DeviceMemory) {
  ASSERT_EQ(kinds_of("SIGSEGV 0x7f32a0000008 0x400 0x500 read"), "device-pointer");
  const ReportedFinding& f = result.findings[0];
  EXPECT_EQ(f.severity, Severity::kError);
  EXPECT_EQ(f.message, "The host reads 0x7f32a0000008, 8 bytes into 64 bytes of device memory "
                       "allocated by cudaMalloc, and SIGSEGV ends the program.");
  EXPECT_EQ(labels(f), "accessed here|allocated here");
  EXPECT_EQ(address_of(f.stacks[0]), 0x401u);
}

TEST_F(DevicePointers, FreedMemory) {
  cuda_free(kA);
  ASSERT_EQ(kinds_of("SIGSEGV 0x7f32a0000000 0x400 0x500 write"), "device-pointer");
  EXPECT_NE(result.findings[0].message.find("The host writes to 0x7f32a0000000, at the beginning "
                                            "of memory that was already freed"),
            std::string::npos);
}

TEST_F(DevicePointers, OtherAddresses) { EXPECT_EQ(kinds_of("SIGSEGV 0x10 0x400 0x500 read"), ""); }

TEST_F(DevicePointers, MemoryOfTheHost) {
  cuda_malloc_host(kB, 64);
  EXPECT_EQ(kinds_of("SIGBUS 0x7f32b0000000 0x400 0x500 read"), "");
}

TEST_F(DevicePointers, WordsThatMakeNoSense) {
  EXPECT_EQ(kinds_of("SIGSEGV 0x7f32a0000008 0x400"), "");
  EXPECT_EQ(kinds_of("SIGFOO 0x7f32a0000008 0x400 0x500 read"), "");
  EXPECT_EQ(kinds_of("SIGSEGV 0x7f32a0000008 0x400 0x500 use"), "");
}

} // namespace
} // namespace gmt::test
