// SPDX-License-Identifier: Apache-2.0
// A kernel that would take long to compile with checks stays plain, unless the user names kernels.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "interposer/kernel_checks/library/choice.h"
#include "interposer/kernel_checks/library/code.h"
#include "interposer/kernel_checks/library/driver.h"
#include "made_up_driver.h"

namespace gmt::interposer::kernel_checks {
namespace {

std::string kernel_with(const std::string& name, std::uint32_t loads) {
  std::string text = ".visible .entry " + name + "(.param .u64 p)\n" +
                     "{ .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p];\n";
  for (std::uint32_t i = 0; i < loads; ++i) text += "ld.global.u32 %r, [%d];\n";
  return text + "ret; }\n";
}

TEST(KernelCheckLargeKernels, AreCheckedIfTheyAreNamed) {
  begin_made_up_driver();
  const std::string text = ".version 8.3\n.target sm_70\n.address_size 64\n" +
                           kernel_with("large", kMostAccesses + 1) +
                           kernel_with("small", kMostAccesses);
  const std::unique_ptr<Module> module = rewrite_image(text.c_str(), false);
  EXPECT_EQ(module->why_plain, "");
  EXPECT_EQ(module->code.kernels, std::vector<std::string>{"small"});
  ASSERT_EQ(module->code.unchecked.size(), 1u);
  EXPECT_EQ(module->code.unchecked[0].function, "large");
  EXPECT_EQ(module->code.unchecked[0].reason,
            "its code has more than 3000 accesses of memory, and may take minutes to compile with "
            "checks: '--only-kernels' with its name has it checked");
  const KernelChecksCore* const before = core;
  KernelChecksCore naming = *core;
  naming.settings.only_kernels = "large";
  core = &naming;
  EXPECT_EQ(rewrite_image(text.c_str(), false)->code.kernels.size(), 2u);
  core = before;
}

} // namespace
} // namespace gmt::interposer::kernel_checks
