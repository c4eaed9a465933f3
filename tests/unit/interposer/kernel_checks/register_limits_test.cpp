// SPDX-License-Identifier: Apache-2.0
// What machine code says of its kernels' registers, and the limits that follow.
#include "interposer/kernel_checks/library/register_limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "made_up_cubin.h"

namespace gmt::interposer::kernel_checks {
namespace {

// As cuFuncGetAttribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) has it: 1,024 threads up to 64
// registers, 896 up to 72, 768 up to 80, 640 up to 96, 512 up to 128, 384 up to 168.
TEST(KernelCheckRegisters, AsManyAsLeaveTheThreads) {
  constexpr std::uint32_t kMost[] = {64, 72, 80, 96, 128, 168, 255};
  const std::uint32_t* most = kMost;
  for (std::uint32_t registers = 1; registers <= 255; ++registers) {
    if (registers > *most) ++most;
    EXPECT_EQ(most_for_equal_threads(registers), *most) << registers;
  }
}

TEST(KernelCheckRegisters, OfMachineCode) {
  const std::string cubin = MadeUpCubin::of({{"few", 12}, {"many", 255}});
  EXPECT_EQ(registers_of(cubin), (RegisterCounts{{"few", 12}, {"many", 255}}));
  EXPECT_TRUE(registers_of("").empty());
  EXPECT_TRUE(
    registers_of("machine code of no ELF file that is longer than a header of one").empty());
}

// A file that was cut off, or a byte of which is wrong: fewer kernels, and nothing worse.
TEST(KernelCheckRegisters, OfDamagedMachineCode) {
  const std::string cubin = MadeUpCubin::of({{"few", 12}, {"many", 255}});
  for (std::size_t bytes = 0; bytes < cubin.size(); ++bytes)
    EXPECT_TRUE(registers_of(std::string(cubin.data(), bytes)).size() <= 2);
  for (std::size_t at = 0; at < cubin.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = cubin;
      damaged[at] = value;
      EXPECT_LE(registers_of(damaged).size(), 2U) << at;
    }
  }
}

TEST(KernelCheckRegisters, KernelsThatSayNothingGetALimit) {
  const std::string text = ".version 8.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry a()\n{ ret; }\n"
                           ".visible .entry b()\n{ ret; }\n"
                           ".visible .entry c() .maxntid 64 { ret; }\n"
                           ".visible .entry d() .maxnreg 32 { ret; }\n"
                           ".func e()\n{ ret; }\n";
  const std::string limited =
    limit_registers(text, [](std::string_view kernel) { return kernel == "b" ? 0U : 48U; });
  EXPECT_NE(limited.find("a()\n .maxnreg 48 {"), std::string::npos) << limited;
  EXPECT_EQ(limited.find(".maxnreg 48"), limited.rfind(".maxnreg 48"));
}

} // namespace
} // namespace gmt::interposer::kernel_checks
